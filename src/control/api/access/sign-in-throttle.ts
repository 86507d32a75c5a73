import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../../platform/run/clock.ts'
import { AppError } from '../../../platform/errors.ts'
import { originOf, THIS_MACHINE } from '../../../http/server/request-origin.ts'

/** Failures are counted for so long from the first one on; what is refused meanwhile does not prolong it. */
const WINDOW_MS = 60_000
const MOST_OF_ONE = 10
/** Of all addresses together, except this machine: however many strangers try, its owner gets in from here. */
const MOST_OF_ALL = 100
/** Addresses remembered; beyond that the oldest is forgotten, and the limit for all still holds. */
const MOST_ADDRESSES = 1000

interface Window {
  failures: number
  endsAtMs: number
}

/** Keys are far too long to be guessed; this keeps those who try from filling the log, and from keeping the store busy. */
export class SignInThrottle {
  readonly #clock: Pick<Clock, 'nowMs'>
  readonly #windows = new Map<string, Window>()
  #all: Window = { failures: 0, endsAtMs: 0 }

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock
  }

  /**
   * Throws when there were too many failures from where the request comes, or altogether. Counts this one as one more
   * before anybody waits for anything, or many at once would all come through; the answer takes that back.
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
