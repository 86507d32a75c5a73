import type { Clock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import type { HttpRequest } from '../exchange.ts'
import { originOf, THIS_MACHINE } from './request-origin.ts'

/** Wrong keys are counted for so long from the first one on. */
const WINDOW_MS = 60_000
const MOST_OF_ONE = 20
/** Addresses remembered; beyond that the one that has been quiet for longest is forgotten. */
const MOST_ADDRESSES = 10_000

interface Window {
  count: number
  endsAtMs: number
}

/**
 * Tells those who show one wrong key after another to wait. Keys are looked at before this is asked, so a right one always
 * opens, whatever others at the same address do: it keeps nobody out, and those who guess learn that it is in vain.
 * Programs on this machine are not counted: one with an old key in its settings would be told of a limit, not of its key.
 */
export class WrongKeys {
  readonly #clock: Pick<Clock, 'nowMs'>
  readonly #windows = new Map<string, Window>()

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock
  }

  /** What to throw in the place of `thrown`: the same, unless a key was wrong and many before it were. */
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

  /** The window that still runs, or a new one; as the last that was looked at. */
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

/** Who shows none has guessed none. */
function showsKey({ headers }: Pick<HttpRequest, 'headers'>): boolean {
  return headers.authorization !== undefined || headers['x-api-key'] !== undefined
}
