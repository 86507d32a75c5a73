import type { ProgressMessage } from '../../api/bus/messages.ts'
import type { Clock } from '../../platform/clock.ts'
import type { FileProgress } from './wanted.ts'

const PERIOD_MS = 250
/** The rate is that of the last few seconds. */
const RATE_SAMPLES = 20

/** Adds up how far many files have come, and tells it at most four times a second. */
export class ProgressMeter {
  readonly #clock: Clock
  readonly #tell: (progress: ProgressMessage) => void
  readonly #files = new Map<string, FileProgress>()
  readonly #samples: { atMs: number; bytes: number }[] = []
  #doneBytes = 0
  #totalBytes = 0
  #unknownTotals = 0
  #arrivedBytes = 0
  #file: string | null = null
  #toldAtMs = Number.NEGATIVE_INFINITY
  #cancel: (() => void) | undefined
  #disposed = false

  constructor(clock: Clock, tell: (progress: ProgressMessage) => void) {
    this.#clock = clock
    this.#tell = tell
  }

  /** `key` tells files of the same name apart. */
  set(key: string, progress: FileProgress): void {
    const { path, doneBytes, totalBytes, arrivedBytes } = progress
    const before = this.#files.get(key)
    this.#files.set(key, progress)
    this.#doneBytes += doneBytes - (before?.doneBytes ?? 0)
    this.#totalBytes += (totalBytes ?? 0) - (before?.totalBytes ?? 0)
    this.#unknownTotals += (totalBytes === null ? 1 : 0) - (before?.totalBytes === null ? 1 : 0)
    // What had arrived before we began to watch is no part of the rate.
    this.#arrivedBytes += Math.max(0, arrivedBytes - (before?.arrivedBytes ?? arrivedBytes))
    if (doneBytes > (before?.doneBytes ?? 0)) this.#file = path
    this.#schedule()
  }

  dispose(): void {
    this.#disposed = true
    this.#cancel?.()
  }

  #schedule(): void {
    if (this.#cancel || this.#disposed) return
    // A clock that is set back must not silence it for as long.
    const waitMs = Math.min(PERIOD_MS, this.#toldAtMs + PERIOD_MS - this.#clock.nowMs())
    if (waitMs <= 0) return this.#tellNow()
    this.#cancel = this.#clock.after(waitMs, () => {
      this.#cancel = undefined
      this.#tellNow()
    })
  }

  #tellNow(): void {
    this.#toldAtMs = this.#clock.nowMs()
    this.#tell({
      file: this.#file,
      done_bytes: this.#doneBytes,
      total_bytes: this.#unknownTotals === 0 ? this.#totalBytes : null,
      bytes_per_s: this.#rate(),
    })
  }

  #rate(): number | null {
    this.#samples.push({ atMs: this.#toldAtMs, bytes: this.#arrivedBytes })
    if (this.#samples.length > RATE_SAMPLES) this.#samples.shift()
    const [first] = this.#samples
    const passedMs = this.#toldAtMs - first!.atMs
    return passedMs > 0 ? Math.round(((this.#arrivedBytes - first!.bytes) * 1000) / passedMs) : null
  }
}
