import type { Clock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import type { HttpRequest } from '../exchange.ts'
import { originOf, THIS_MACHINE } from './request-origin.ts'

/** Wrong keys are counted for this long, from the first one on. */
const WINDOW_MS = 60_000
const MOST_OF_ONE = 20
/** Addresses remembered; beyond that the one that has been quiet longest is forgotten. */
const MOST_ADDRESSES = 10_000

interface Window {
  count: number
  endsAtMs: number
}

/**
 * Throttles addresses that send one wrong key after another. Keys are checked first, so a right key always works, whatever
 * other clients at its address do. Programs on this machine are not counted: one with an old key in its settings should
 * learn that its key is wrong, not that there is a limit.
 */
export class WrongKeys {
  readonly #clock: Pick<Clock, 'nowMs'>
  readonly #windows = new Map<string, Window>()

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock
  }

  /** The error to throw instead of `thrown`: the same one, unless it is one of too many wrong keys. */
  judge<T>(request: Pick<HttpRequest, 'headers' | 'socket'>, thrown: T): T | AppError {
    if (!(thrown instanceof AppError) || thrown.code !== 'unauthorized' || !showsKey(request)) return thrown
    const from = originOf(request)
    if (from === THIS_MACHINE) return thrown
    const window = this.#windowOf(from)
    window.count += 1
    if (window.count <= MOST_OF_ONE) return thrown
    const retryAfterS = Math.max(1, Math.ceil((window.endsAtMs - this.#clock.nowMs()) / 1000))
    const text = `Too many wrong keys came from this address. Try again in ${retryAfterS} s, with a key that works.`
    return new AppError('busy', text, { retryAfterS })
  }

  /** The current window or a new one, moved to the end of the map as the most recent. */
  #windowOf(from: string): Window {
    const nowMs = this.#clock.nowMs()
    const known = this.#windows.get(from)
    const window = known && known.endsAtMs > nowMs ? known : { count: 0, endsAtMs: nowMs + WINDOW_MS }
    this.#windows.delete(from)
    this.#windows.set(from, window)
    if (this.#windows.size > MOST_ADDRESSES) this.#windows.delete(this.#windows.keys().next().value!)
    return window
  }
}

/** A request without a key is no guess. */
function showsKey({ headers }: Pick<HttpRequest, 'headers'>): boolean {
  return headers.authorization !== undefined || headers['x-api-key'] !== undefined
}
