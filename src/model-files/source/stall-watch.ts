import type { Clock } from '../../platform/run/clock.ts'
import { Interruption } from './persist.ts'

/** Notices that nothing comes any more. `signal` is aborted then, or when the signal it was made from is. */
export class StallWatch {
  readonly signal: AbortSignal
  readonly #stalled = new AbortController()
  readonly #clock: Clock
  readonly #stallMs: number
  #cancel = (): void => {}

  constructor(clock: Clock, stallMs: number, signal: AbortSignal) {
    this.#clock = clock
    this.#stallMs = stallMs
    this.signal = AbortSignal.any([signal, this.#stalled.signal])
  }

  /** Waits for one thing of which something must come within the limit; only this time counts, not what we do meanwhile. */
  async during<T>(waiting: Promise<T>): Promise<T> {
    const { signal } = this.#stalled
    const reason = new Interruption(`nothing came for ${this.#stallMs / 1000} s`)
    this.#cancel = this.#clock.after(this.#stallMs, () => this.#stalled.abort(reason))
    try {
      return await waiting
    } catch (error) {
      throw signal.aborted ? reason : error
    } finally {
      this.#cancel()
    }
  }
}
