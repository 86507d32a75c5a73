import type { Clock } from '../../../platform/run/clock.ts'
import { AppError } from '../../../platform/errors.ts'

/** After a file filled the disk, the next try of it waits: 30 s, twice as long each time, 30 minutes at most. */
const WAIT_MS = { first: 30_000, most: 30 * 60_000 }
/** Files that are known to be too large; of more the oldest is forgotten. */
const MOST_FILES = 100
/** With so much more room than at the last try it is tried at once. */
const MORE_ROOM = 1.1

/**
 * Files without a length that filled the disk. What had arrived was deleted, so that another try would fetch as many bytes
 * again: measured, 4.3 GB in 24 s.
 */
export class TooLarge {
  readonly #clock: Pick<Clock, 'nowMs'>
  readonly #files = new Map<string, { times: number; untilMs: number; free: number; message: string }>()

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock
  }

  /** Refuses one that filled the disk a moment ago, while there is no more room than then. */
  refuse(label: string, free: number): void {
    const known = this.#files.get(label)
    const leftMs = known ? known.untilMs - this.#clock.nowMs() : 0
    // A clock that was set back keeps nothing from being tried.
    if (!known || leftMs <= 0 || leftMs > WAIT_MS.most || free > known.free * MORE_ROOM) return
    const when = `in ${Math.ceil(leftMs / 1000)} s, or as soon as there is more room`
    throw new AppError('unavailable', `${known.message} It is tried again ${when}.`)
  }

  /** It filled the disk, where so much was free when it began. */
  note(label: string, free: number, message: string): void {
    const times = (this.#files.get(label)?.times ?? 0) + 1
    const waitMs = Math.min(WAIT_MS.most, WAIT_MS.first * 2 ** Math.min(times - 1, 20))
    this.#files.delete(label)
    this.#files.set(label, { times, untilMs: this.#clock.nowMs() + waitMs, free, message })
    const [oldest] = this.#files.keys()
    if (this.#files.size > MOST_FILES) this.#files.delete(oldest!)
  }
}
