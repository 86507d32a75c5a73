/** What is counted of requests that ended; sums of milliseconds. */
export interface Counts {
  requests: number
  errors: number
  first_byte_ms: number
  duration_ms: number
}

/** Counts of the last steps of time. The newest step is the one that runs; older ones than there is room for are forgotten. */
export class StepCounts {
  readonly #stepMs: number
  readonly #ring: Counts[]
  /** The number of the step that runs, counted from time 0. */
  #step = -Infinity

  constructor(stepMs: number, steps: number) {
    this.#stepMs = stepMs
    this.#ring = Array.from({ length: steps }, () => ({ requests: 0, errors: 0, first_byte_ms: 0, duration_ms: 0 }))
  }

  add(added: Counts, nowMs: number): void {
    this.#moveTo(nowMs)
    const counts = this.#at(0)
    counts.requests += added.requests
    counts.errors += added.errors
    counts.first_byte_ms += added.first_byte_ms
    counts.duration_ms += added.duration_ms
  }

  /** Of so many whole steps, and the one that runs. */
  sum(nowMs: number, steps: number): Counts {
    this.#moveTo(nowMs)
    const total = { requests: 0, errors: 0, first_byte_ms: 0, duration_ms: 0 }
    for (let back = 0; back <= steps; back += 1) {
      const { requests, errors, first_byte_ms, duration_ms } = this.#at(back)
      total.requests += requests
      total.errors += errors
      total.first_byte_ms += first_byte_ms
      total.duration_ms += duration_ms
    }
    return total
  }

  /** Requests of each of so many whole steps, the oldest first. The one that runs is left out: it is not whole yet. */
  requests(nowMs: number, steps: number): number[] {
    this.#moveTo(nowMs)
    return Array.from({ length: steps }, (_, i) => this.#at(steps - i).requests)
  }

  /** How much has passed of the step that runs. */
  elapsedMs(nowMs: number): number {
    this.#moveTo(nowMs)
    return Math.max(0, nowMs - this.#step * this.#stepMs)
  }

  isEmpty(nowMs: number): boolean {
    this.#moveTo(nowMs)
    return this.#ring.every(({ requests }) => requests === 0)
  }

  /** A clock that was set back a little counts to the step that runs; one that was set back by more than all begins anew. */
  #moveTo(nowMs: number): void {
    const step = Math.floor(nowMs / this.#stepMs)
    const steps = this.#ring.length
    const isFar = Math.abs(step - this.#step) >= steps
    if (step <= this.#step && !isFar) return
    for (let passed = isFar ? step - steps + 1 : this.#step + 1; passed <= step; passed += 1) {
      Object.assign(this.#ring[passed % steps]!, { requests: 0, errors: 0, first_byte_ms: 0, duration_ms: 0 })
    }
    this.#step = step
  }

  #at(back: number): Counts {
    const steps = this.#ring.length
    return this.#ring[(((this.#step - back) % steps) + steps) % steps]!
  }
}
