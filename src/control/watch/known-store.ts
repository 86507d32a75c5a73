import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { Clock } from '../../platform/run/clock.ts'
import { AppError, messageOf } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'
import { writeWhole } from '../../platform/write-whole.ts'
import type { Database } from '../../store/sql.ts'
import { readMark, type StoreMark } from '../../store/migrate/store-mark.ts'
import type { Conditions } from './conditions.ts'

/** The file in the data folder of a frontend. */
export const SEEN_FILE = 'store.seen'
const WRITE_EVERY_MS = 60_000
/** How long people are told that the store went back: by then the admin who restored it has seen it, and nodes are back. */
const TOLD_FOR_MS = 60 * 60_000

const OTHER = 'a store of another cluster'
const EMPTY = 'a store without tables'
const OLDER = 'a store that went back'

const seenRecord = z.object({
  epoch: z.int().nonnegative(),
  event: z.int().nonnegative(),
  secret_hash: z.string().max(100).optional(),
})
type Seen = z.infer<typeof seenRecord>

export interface KnownStoreDeps {
  db: Database
  clusterId: string
  /** Where what was seen last is kept over restarts. */
  file: string
  secretHash: string
  conditions: Conditions
  clock: Clock
  log: Logger
}

/**
 * What this frontend knows of its store: its cluster, and how far it has been. The store can be swapped while frontends run
 * (failover to a fresh standby, a restored volume); what they read from it then is not what they wrote.
 */
export class KnownStore {
  readonly clusterId: string
  readonly #deps: KnownStoreDeps
  readonly #onBack: (() => void)[] = []
  #seen: Seen
  #writtenMs: number
  #isWritten = true
  #foreign: string | undefined
  #hasLooked = false
  #cancel = (): void => {}

  constructor(deps: KnownStoreDeps) {
    this.#deps = deps
    this.clusterId = deps.clusterId
    const before = readSeen(deps.file)
    this.#seen = { ...(before ?? { epoch: 0, event: 0 }), secret_hash: deps.secretHash }
    this.#writtenMs = Number.NEGATIVE_INFINITY
    this.#isWritten = before?.secret_hash === deps.secretHash
  }

  /** Called when the store went back to an older state: caches of it are no longer valid. */
  onBack(callback: () => void): void {
    this.#onBack.push(callback)
  }

  /** Why the store is not ours, if it is not. Then the frontend must not serve anything from it, nor write to it. */
  foreign(): string | undefined {
    return this.#foreign
  }

  /** Checks the cluster of the store and how far it is. False when it is not ours. */
  async look(): Promise<boolean> {
    const { db, conditions, clusterId } = this.#deps
    let mark: StoreMark
    try {
      mark = await readMark(db)
    } catch (error) {
      const isEmpty = error instanceof AppError && error.details['store'] === 'empty'
      conditions.look(
        EMPTY,
        isEmpty ? { kind: 'store', severity: 'error', text: error.message, advice: BACK } : undefined,
      )
      throw error
    }
    conditions.end(EMPTY)
    this.#foreign =
      mark.clusterId === clusterId
        ? undefined
        : `The database is that of ${mark.clusterId === null ? 'no cluster' : `the cluster ${mark.clusterId}`}, and this frontend is of the cluster ${clusterId}: nothing is read from it or written to it.`
    const text = this.#foreign
    conditions.look(OTHER, text === undefined ? undefined : { kind: 'store', severity: 'error', text, advice: BACK })
    if (text !== undefined) return false
    this.#compare(mark)
    this.#hasLooked = true
    return true
  }

  dispose(): void {
    this.#cancel()
    if (!this.#isWritten) this.#write()
  }

  #compare({ epoch, eventId: event }: StoreMark): void {
    const seen = this.#seen
    // A store that was moved by export and import begins its epochs anew, and has all its events.
    const isBack = event < seen.event || (this.#hasLooked && epoch < seen.epoch)
    if (isBack) this.#tellBack({ epoch, event }, seen)
    if (epoch === seen.epoch && event === seen.event && this.#isWritten) return
    this.#seen = { ...seen, epoch, event }
    this.#isWritten = false
    const { clock } = this.#deps
    if (!isBack && clock.nowMs() - this.#writtenMs < WRITE_EVERY_MS) return
    this.#write()
  }

  #tellBack(now: Omit<Seen, 'secret_hash'>, seen: Seen): void {
    const { conditions, clock } = this.#deps
    const text = `The store went back in time: its newest event was ${seen.event} (lease epoch ${seen.epoch}) and is ${now.event} (epoch ${now.epoch}). What was changed in between is lost; nodes that it does not know register again by themselves.`
    const advice = 'if no backup was restored on purpose, look which database this is; this stands for an hour'
    conditions.begin(OLDER, { kind: 'store', severity: 'error', text, advice })
    this.#cancel()
    this.#cancel = clock.after(TOLD_FOR_MS, () => conditions.end(OLDER))
    for (const callback of this.#onBack) callback()
  }

  #write(): void {
    const { file, clock, log } = this.#deps
    this.#writtenMs = clock.nowMs()
    try {
      writeWhole(file, `${JSON.stringify(this.#seen)}\n`)
      this.#isWritten = true
    } catch (error) {
      // A full disk, say: retried in a minute. Only a restart meanwhile would lose the mark.
      log.debug({ file, error: messageOf(error) }, 'control: could not save the mark of the store')
    }
  }
}

const BACK = 'look which database this is; the right one is taken up again by itself'

/** Nothing when there is none, or none that can be read. */
export function readSeen(file: string): Seen | undefined {
  try {
    return seenRecord.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return undefined
  }
}
