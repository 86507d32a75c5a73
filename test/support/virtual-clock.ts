import type { Clock } from '../../src/platform/run/clock.ts'

/** A clock that moves only when told to, so that a test of hours takes microseconds and never sleeps. */
export class VirtualClock implements Clock {
  #nowMs: number
  #nextId = 0
  readonly #timers = new Map<number, { atMs: number; callback: () => void }>()

  constructor(startMs = 0) {
    this.#nowMs = startMs
  }

  nowMs(): number {
    return this.#nowMs
  }

  after(delayMs: number, callback: () => void): () => void {
    const id = this.#nextId++
    this.#timers.set(id, { atMs: this.#nowMs + Math.max(0, delayMs), callback })
    return () => this.#timers.delete(id)
  }

  /** Moves time on, firing timers in order and letting promises settle after each. */
  async advance(byMs: number): Promise<void> {
    const untilMs = this.#nowMs + byMs
    await settle()
    for (let next = this.#earliest(untilMs); next; next = this.#earliest(untilMs)) {
      this.#timers.delete(next.id)
      this.#nowMs = next.atMs
      next.callback()
      await settle()
    }
    this.#nowMs = untilMs
  }

  #earliest(untilMs: number): { id: number; atMs: number; callback: () => void } | undefined {
    let best: { id: number; atMs: number; callback: () => void } | undefined
    for (const [id, timer] of this.#timers) {
      if (timer.atMs <= untilMs && (!best || timer.atMs < best.atMs)) best = { id, ...timer }
    }
    return best
  }
}

/** Long enough for chains of awaits to run to their next timer; macrotasks, because I/O promises need them. */
async function settle(): Promise<void> {
  for (let i = 0; i < 5; i += 1) await new Promise((resolve) => setImmediate(resolve))
}
