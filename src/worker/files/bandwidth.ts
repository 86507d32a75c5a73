import { sleep, type Clock } from '../../platform/run/clock.ts'

/** So much may come in one go after a pause, in time at the full rate: enough to be smooth, too little to matter. */
const BURST_MS = 250

/** What all transfers together may fetch per second. Without a rate there is no limit. */
export class Bandwidth {
  readonly #bytesPerMs: number
  readonly #clock: Clock
  /** Below zero: bytes that were taken before their time. */
  #spare = 0
  #filledAtMs: number

  constructor(bytesPerSecond: number | undefined, clock: Clock) {
    this.#bytesPerMs = (bytesPerSecond ?? Number.POSITIVE_INFINITY) / 1000
    this.#clock = clock
    this.#filledAtMs = clock.nowMs()
  }

  /** Called with bytes that have arrived; resolves when the next may be read. */
  async take(bytes: number, signal: AbortSignal): Promise<void> {
    if (this.#bytesPerMs === Number.POSITIVE_INFINITY) return
    const nowMs = this.#clock.nowMs()
    // A clock that was set back must not stop transfers for as long.
    const passedMs = Math.max(0, nowMs - this.#filledAtMs)
    this.#filledAtMs = nowMs
    this.#spare = Math.min(this.#spare + passedMs * this.#bytesPerMs, BURST_MS * this.#bytesPerMs) - bytes
    // Whoever takes later waits longer, so the transfers share the rate by turns.
    if (this.#spare < 0) await sleep(this.#clock, -this.#spare / this.#bytesPerMs, signal)
  }
}
