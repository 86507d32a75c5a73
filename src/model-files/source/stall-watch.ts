import type { Clock } from '../../platform/run/clock.ts'
import { Interruption } from './persist.ts'

/** Detects a connection that delivers nothing. `signal` is then aborted, or when the original signal is. */
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

  /** Waits for something that must make progress within the limit; the time between two such calls does not count. */
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
