import { sleep, type Clock } from '../../platform/run/clock.ts'

/** The largest burst after a pause, as time at the full rate: long enough to be smooth, too short to matter. */
const BURST_MS = 250

/** The bytes that all transfers together may fetch per second. Without a rate there is no limit. */
export class Bandwidth {
  readonly #bytesPerMs: number
  readonly #clock: Clock
  /** Below zero: bytes that were taken in advance. */
  #spare = 0
  #filledAtMs: number

  constructor(bytesPerSecond: number | undefined, clock: Clock) {
    this.#bytesPerMs = (bytesPerSecond ?? Number.POSITIVE_INFINITY) / 1000
    this.#clock = clock
    this.#filledAtMs = clock.nowMs()
  }

  /** Call it with the number of bytes that arrived; resolves when the next may be read. */
  async take(bytes: number, signal: AbortSignal): Promise<void> {
    if (this.#bytesPerMs === Number.POSITIVE_INFINITY) return
    const nowMs = this.#clock.nowMs()
    // If the clock is set back, transfers must not stop for the same time.
    const passedMs = Math.max(0, nowMs - this.#filledAtMs)
    this.#filledAtMs = nowMs
    this.#spare = Math.min(this.#spare + passedMs * this.#bytesPerMs, BURST_MS * this.#bytesPerMs) - bytes
    // Each later caller waits longer, so the transfers share the rate in turns.
    if (this.#spare < 0) await sleep(this.#clock, -this.#spare / this.#bytesPerMs, signal)
  }
}
