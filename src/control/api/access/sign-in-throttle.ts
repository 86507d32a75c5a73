import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../../platform/run/clock.ts'
import { AppError } from '../../../platform/errors.ts'
import { originOf, THIS_MACHINE } from '../../../http/server/request-origin.ts'

/** The window in which failures count, from the first one on. Attempts refused meanwhile do not prolong it. */
const WINDOW_MS = 60_000
const MOST_OF_ONE = 10
/** For all addresses together, except this machine: its owner can always sign in from here. */
const MOST_OF_ALL = 100
/** Addresses remembered; beyond that the oldest is forgotten, and the limit for all still holds. */
const MOST_ADDRESSES = 1000

interface Window {
  failures: number
  endsAtMs: number
}

/** Keys are far too long to be guessed; this keeps attempts from filling the log and loading the store. */
export class SignInThrottle {
  readonly #clock: Pick<Clock, 'nowMs'>
  readonly #windows = new Map<string, Window>()
  #all: Window = { failures: 0, endsAtMs: 0 }

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock
  }

  /**
   * Throws when there were too many failures from the request's address, or in all. Counts this attempt as a failure before
   * any await, or many at once would all pass; success takes it back.
   */
  enter(request: IncomingMessage): { forgive(): void } {
    const from = originOf(request)
    const isCountedWithAll = from !== THIS_MACHINE
    const own = this.#refuseAbove(MOST_OF_ONE, this.#windows.get(from))
    if (isCountedWithAll) this.#all = this.#refuseAbove(MOST_OF_ALL, this.#all)
    const counted = isCountedWithAll ? [own, this.#all] : [own]
    for (const window of counted) window.failures += 1
    this.#windows.delete(from)
    this.#windows.set(from, own)
    if (this.#windows.size > MOST_ADDRESSES) this.#windows.delete(this.#windows.keys().next().value!)
    return {
      forgive() {
        for (const window of counted) window.failures -= 1
      },
    }
  }

  /** The window that still runs, or a new one. */
  #refuseAbove(most: number, window: Window | undefined): Window {
    const nowMs = this.#clock.nowMs()
    if (!window || window.endsAtMs <= nowMs) return { failures: 0, endsAtMs: nowMs + WINDOW_MS }
    if (window.failures < most) return window
    const retryAfterS = Math.ceil((window.endsAtMs - nowMs) / 1000)
    throw new AppError('busy', `Too many sign-ins have failed. Try again in ${retryAfterS} s.`, { retryAfterS })
  }
}
