import type { Clock } from '../../../platform/run/clock.ts'
import { AppError } from '../../../platform/errors.ts'

/** How long the next try waits after a file filled the disk: 30 s, doubled each time, 30 minutes at most. */
const WAIT_MS = { first: 30_000, most: 30 * 60_000 }
/** How many such files are remembered; beyond it the oldest is forgotten. */
const MOST_FILES = 100
/** If there is this much more room than at the last try, the next one starts at once. */
const MORE_ROOM = 1.1

/**
 * Files of unknown length that filled the disk. Their bytes were deleted, so another try would fetch them all again:
 * measured, 4.3 GB in 24 s.
 */
export class TooLarge {
  readonly #clock: Pick<Clock, 'nowMs'>
  readonly #files = new Map<string, { times: number; untilMs: number; free: number; message: string }>()

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock
  }

  /** Refuses a file that filled the disk a moment ago, while there is no more room than then. */
  refuse(label: string, free: number): void {
    const known = this.#files.get(label)
    const leftMs = known ? known.untilMs - this.#clock.nowMs() : 0
    // If the clock is set back, the wait must not grow.
    if (!known || leftMs <= 0 || leftMs > WAIT_MS.most || free > known.free * MORE_ROOM) return
    const when = `in ${Math.ceil(leftMs / 1000)} s, or as soon as there is more room`
    throw new AppError('unavailable', `${known.message} It is tried again ${when}.`)
  }

  /** Records that a file filled the disk, with the free space at its start. */
  note(label: string, free: number, message: string): void {
    const times = (this.#files.get(label)?.times ?? 0) + 1
    const waitMs = Math.min(WAIT_MS.most, WAIT_MS.first * 2 ** Math.min(times - 1, 20))
    this.#files.delete(label)
    this.#files.set(label, { times, untilMs: this.#clock.nowMs() + waitMs, free, message })
    const [oldest] = this.#files.keys()
    if (this.#files.size > MOST_FILES) this.#files.delete(oldest!)
  }
}
