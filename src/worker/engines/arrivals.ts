import type { ProgressMessage } from '../../api/bus/messages.ts'
import type { Operation } from './operations.ts'
import { unlessAborted } from './unless-aborted.ts'

type OnProgress = (progress: ProgressMessage) => void

/** An installation that replicas wait for. It is cancelled when the last of them stops waiting. */
export interface Arrival {
  operation: Operation
  listeners: Set<OnProgress>
  waiting: number
}

/** The installations that replicas wait for: one for each engine, however many replicas wait. */
export class Arrivals {
  readonly #arrivals = new Map<string, Arrival>()

  get(engine: string): Arrival | undefined {
    return this.#arrivals.get(engine)
  }

  begin(engine: string, start: (onProgress: OnProgress) => Operation): void {
    const listeners = new Set<OnProgress>()
    const operation = start((progress) => {
      for (const listener of listeners) listener(progress)
    })
    this.#arrivals.set(engine, { operation, listeners, waiting: 0 })
    void operation.finished.then(() => this.#arrivals.delete(engine))
  }

  /** Waits for the installation's end; rejects with its failure, or when the signal is aborted first. */
  async join(arrival: Arrival, signal?: AbortSignal, onProgress?: OnProgress): Promise<void> {
    // Wrapped in a new function, because two waiters may pass the same one.
    const listener: OnProgress = (progress) => onProgress?.(progress)
    arrival.listeners.add(listener)
    arrival.waiting += 1
    try {
      await unlessAborted(arrival.operation.finished, signal)
    } finally {
      arrival.listeners.delete(listener)
      arrival.waiting -= 1
      if (arrival.waiting === 0) arrival.operation.cancel()
    }
  }
}
