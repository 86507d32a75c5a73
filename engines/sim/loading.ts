import type { Clock } from './clock.ts'

const STEPS = 4

/** The time an engine needs before it can answer. Says how far it is a few times, then that it is ready. */
export class Loading {
  readonly #clock: Clock
  readonly #loadMs: number
  readonly #log: (line: string) => void
  #startMs: number
  #ready = false
  #cancel = (): void => {}

  constructor(loadMs: number, clock: Clock, log: (line: string) => void) {
    this.#clock = clock
    this.#loadMs = loadMs
    this.#startMs = clock.nowMs()
    this.#log = log
  }

  /** Begins to load; before, it has not got anywhere. */
  start(): void {
    this.#startMs = this.#clock.nowMs()
    if (this.#loadMs === 0) this.finish()
    else this.#step(1)
  }

  get ready(): boolean {
    return this.#ready
  }

  /** From 0 to 1, and 1 only when ready. */
  get progress(): number {
    if (this.#ready) return 1
    if (this.#loadMs === 0) return 0
    const share = (this.#clock.nowMs() - this.#startMs) / this.#loadMs
    return Math.min(0.99, Math.floor(share * 100) / 100)
  }

  /** Ready now, however much time was left; tests end a long load this way instead of waiting for a short one. */
  finish(): void {
    if (this.#ready) return
    this.#cancel()
    this.#ready = true
    this.#log('ready')
  }

  #step(step: number): void {
    const dueMs = this.#startMs + (this.#loadMs * step) / STEPS
    this.#cancel = this.#clock.after(Math.max(0, dueMs - this.#clock.nowMs()), () => {
      if (step === STEPS) return this.finish()
      this.#log(`loading ${(100 * step) / STEPS} %`)
      this.#step(step + 1)
    })
  }
}
