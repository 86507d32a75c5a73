/** As src/platform/loop.ts, in virtual time: on every wake and every period, never two turns at once, backoff on failure. */
export class SimLoop {
  readonly #periodMs: number
  readonly #later: (delayMs: number, run: () => void) => void
  readonly #turn: (done: (ok: boolean) => void) => void
  #isRunning = false
  #woken = false
  #failures = 0
  #timer = 0

  constructor(
    periodMs: number,
    later: (delayMs: number, run: () => void) => void,
    turn: (done: (ok: boolean) => void) => void,
  ) {
    this.#periodMs = periodMs
    this.#later = later
    this.#turn = turn
    this.#schedule(0)
  }

  wake(): void {
    if (!this.#isRunning && this.#failures === 0 && !this.#woken) this.#schedule(0)
    this.#woken = true
  }

  #schedule(delayMs: number): void {
    this.#timer += 1
    const timer = this.#timer
    this.#later(delayMs, () => timer === this.#timer && this.#run())
  }

  #run(): void {
    this.#timer += 1
    this.#isRunning = true
    this.#woken = false
    this.#turn((ok) => {
      this.#isRunning = false
      this.#failures = ok ? 0 : this.#failures + 1
      const retryMs = Math.min(this.#periodMs, 100 * 2 ** Math.min(this.#failures - 1, 20))
      this.#schedule(this.#failures > 0 ? retryMs : this.#woken ? 0 : this.#periodMs)
    })
  }
}
