import type { EventQueue } from './event-queue.ts'

/** Everybody at once. */
export const ALL = 'all'

/**
 * Since when each part of the cluster has been left alone. Promises that hold within a time hold from when nobody disturbs
 * those who have to keep them.
 */
export class Health {
  readonly #queue: EventQueue
  readonly #untilMs = new Map<string, number>()

  constructor(queue: EventQueue) {
    this.#queue = queue
  }

  /** By its name: a process, a machine, `store`, `bus`. */
  disturb(name: string, forMs: number): void {
    const untilMs = this.#queue.nowMs + forMs
    if (untilMs > (this.#untilMs.get(name) ?? 0)) this.#untilMs.set(name, untilMs)
  }

  /** When the last of these was left alone; later than now while one is not. */
  calmSinceMs(...names: string[]): number {
    let sinceMs = this.#untilMs.get(ALL) ?? 0
    for (const name of names) sinceMs = Math.max(sinceMs, this.#untilMs.get(name) ?? 0)
    return sinceMs
  }

  /** Of all that must work for control to do its part: a leader, the store, the bus. */
  controlCalmSinceMs(): number {
    return this.calmSinceMs('f1', 'f2', 'store', 'bus')
  }
}
