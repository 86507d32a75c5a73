import { sleep, type Clock } from './clock.ts'

export type Dispose = () => void | Promise<void>

/**
 * What a process has started, to be stopped in the opposite order. A step that fails or hangs is reported and does
 * not keep the others from being stopped: `Ctrl-C` always ends.
 */
export class Lifetime {
  readonly #steps: { name: string; dispose: Dispose }[] = []
  readonly #clock: Clock
  readonly #onProblem: (step: string, problem: unknown) => void
  #ending: Promise<void> | undefined

  constructor(clock: Clock, onProblem: (step: string, problem: unknown) => void) {
    this.#clock = clock
    this.#onProblem = onProblem
  }

  own(name: string, dispose: Dispose): void {
    this.#steps.push({ name, dispose })
  }

  /** Stops everything, newest first, within `deadlineMs` in all. Calling it again waits for the same end. */
  end(deadlineMs: number): Promise<void> {
    this.#ending ??= this.#end(this.#clock.nowMs() + deadlineMs)
    return this.#ending
  }

  async #end(deadline: number): Promise<void> {
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) {
      const { name, dispose } = step
      const stop = new AbortController()
      const leftMs = Math.max(0, deadline - this.#clock.nowMs())
      const late = sleep(this.#clock, leftMs, stop.signal).then(() => 'late' as const)
      const work = (async () => dispose())().then(
        () => 'done' as const,
        (error: unknown) => {
          this.#onProblem(name, error)
          return 'done' as const
        },
      )
      if ((await Promise.race([work, late])) === 'late') this.#onProblem(name, new Error('did not stop in time'))
      stop.abort()
    }
  }
}
