import type { LogLine } from '../../api/admin/schemas.ts'
import { parseReplicaKey } from '../../core/lib/replica-key.ts'
import { LineRing } from './line-ring.ts'
import { SEGMENT_LINES, type Segments } from './segments.ts'

/** How many lines of a replica are kept: enough to see a start and its failure. */
const KEPT_LINES = SEGMENT_LINES

/**
 * The last lines of one replica. Lines written since its engine began are in memory, until the engine has ended and
 * they are on disk; of older lines only the numbers are. Lines not yet on disk are those in the ring after the last one
 * written: a slow disk costs old lines on disk, never memory and never the engine's time.
 */
export class ReplicaLog {
  readonly key: string
  readonly modelName: string
  readonly replicaIndex: number
  /** A writer has it open, or may open it. */
  isOpen = false
  lastSeq = 0
  lastAt = 0
  /** Lines that arrived and are no longer kept. */
  dropped = 0

  readonly #segments: Segments
  #ring = new LineRing(KEPT_LINES)
  /** The numbers of kept lines that are on disk only; all are lower than those in the ring. */
  #stored: number[] = []
  #writtenSeq = 0
  #lastDroppedSeq = 0
  /** The first line ever; undefined when it came in an earlier run of the worker. */
  #bornSeq: number | undefined
  /** The first line of the current engine, else of the last one. */
  #runSeq = 0
  #work: Promise<unknown> = Promise.resolve()

  /** `lines` is everything in its segments. */
  constructor(key: string, segments: Segments, lines: readonly LogLine[] = []) {
    const { modelName, replicaIndex } = parseReplicaKey(key) ?? { modelName: key, replicaIndex: 0 }
    this.key = key
    this.modelName = modelName
    this.replicaIndex = replicaIndex
    this.#segments = segments
    const kept = lines.slice(-KEPT_LINES)
    this.dropped = lines.length - kept.length
    this.#stored = kept.map(({ seq }) => seq)
    this.#lastDroppedSeq = lines[this.dropped - 1]?.seq ?? 0
    this.lastSeq = kept.at(-1)?.seq ?? 0
    this.lastAt = kept.at(-1)?.at ?? 0
    this.#writtenSeq = this.lastSeq
  }

  get length(): number {
    return this.#stored.length + this.#ring.length
  }

  get firstSeq(): number {
    return this.#stored[0] ?? this.#ring.first?.seq ?? 0
  }

  get bytes(): number {
    return this.#segments.bytes
  }

  /** It has no writer and no line that is not on disk. */
  get isIdle(): boolean {
    return !this.isOpen && this.#ring.length === 0
  }

  push(line: LogLine): void {
    if (this.length >= KEPT_LINES) {
      this.#lastDroppedSeq = this.#stored.shift() ?? this.#ring.first!.seq
      this.dropped += 1
    }
    if (!this.isOpen) this.#runSeq = line.seq
    this.isOpen = true
    this.#ring.push(line)
    if (this.lastSeq === 0) this.#bornSeq = line.seq
    this.lastSeq = line.seq
    this.lastAt = line.at
  }

  /** The engine has ended. */
  close(): void {
    this.isOpen = false
    this.#letGo()
  }

  /** The last lines of the current engine, else of the last one. */
  lastTexts(count: number): string[] {
    const lines = this.#ring.after(this.#runSeq - 1)
    return lines.slice(-count).map(({ text }) => text)
  }

  /** The newest line that is on disk only; 0 when all kept lines are in memory. */
  get storedSeq(): number {
    return this.#stored.at(-1) ?? 0
  }

  /** Reads the lines on disk, after the operations before it. */
  readStored(): Promise<LogLine[]> {
    return this.#inTurn(() => this.#segments.read())
  }

  /** The kept lines after a number. `stored` is what was read from disk; it must reach `storedSeq`. */
  after(seq: number, stored: readonly LogLine[]): LogLine[] {
    const [from, to] = [Math.max(seq + 1, this.firstSeq), this.storedSeq]
    return [...stored.filter((line) => line.seq >= from && line.seq <= to), ...this.#ring.after(seq)]
  }

  /** How many lines up to this number there ever were; undefined when that is no longer known. */
  countUpTo(seq: number): number | undefined {
    if (seq >= this.#lastDroppedSeq) {
      const newer = this.#stored.findIndex((stored) => stored > seq)
      return this.dropped + (newer >= 0 ? newer : this.#stored.length) + this.#ring.countUpTo(seq)
    }
    return this.#bornSeq !== undefined && seq < this.#bornSeq ? 0 : undefined
  }

  /** Writes to disk the lines that existed when it was called. */
  flush(): Promise<void> {
    const upTo = this.lastSeq
    if (this.#writtenSeq >= upTo) return Promise.resolve()
    return this.#inTurn(async () => {
      while (this.#writtenSeq < upTo) {
        const lines = this.#ring.after(this.#writtenSeq)
        const written = await this.#segments.append(lines)
        this.#writtenSeq = lines[written - 1]!.seq
      }
      this.#letGo()
    })
  }

  /** Removes the files of an idle log: no write can be running. */
  remove(): void {
    this.#segments.remove()
  }

  /** Frees the memory of lines that are on disk and whose engine has ended. */
  #letGo(): void {
    if (this.isOpen || this.#writtenSeq < this.lastSeq || this.#ring.length === 0) return
    this.#stored.push(...this.#ring.after(0).map(({ seq }) => seq))
    this.#ring = new LineRing(KEPT_LINES)
  }

  /** Runs one disk operation at a time. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#work.then(work)
    this.#work = done.catch(() => {})
    return done
  }
}
