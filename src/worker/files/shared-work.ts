import { unlessAborted } from '../../model-files/source/unless-aborted.ts'
import type { FileProgress } from './store/fetched.ts'

export interface Waiter {
  signal: AbortSignal
  onProgress: (progress: FileProgress) => void
}

type Work<T> = (signal: AbortSignal, report: (progress: FileProgress) => void) => Promise<T>

interface Running<T> {
  result: Promise<T>
  stop: AbortController
  waiters: Set<Waiter>
  /** The last report for each file: a caller that joins later gets it at once. */
  progress: Map<string, FileProgress>
}

/**
 * Work that runs once for all callers. Each waiter leaves by its own signal; the last one to leave cancels the work and
 * waits for its end, so no work goes on without a waiter.
 */
export class SharedWork<T> {
  readonly #running = new Map<string, Running<T>>()
  #closed: Error | undefined

  async join(key: string, waiter: Waiter, work: Work<T>): Promise<T> {
    const { signal } = waiter
    signal.throwIfAborted()
    let running = this.#running.get(key)
    while (running?.stop.signal.aborted) {
      // The running work is being cancelled and still holds its files: begin again when it has released them.
      await unlessAborted(ended(running.result), signal)
      running = this.#running.get(key)
    }
    if (this.#closed) throw this.#closed
    running ??= this.#start(key, work)
    running.waiters.add(waiter)
    for (const progress of running.progress.values()) waiter.onProgress(progress)
    try {
      return await unlessAborted(running.result, signal)
    } finally {
      running.waiters.delete(waiter)
      if (running.waiters.size === 0) {
        running.stop.abort(signal.reason)
        await ended(running.result)
      }
    }
  }

  /** Cancels running work and accepts no more; resolves when all of it has ended. */
  async close(reason: Error): Promise<void> {
    this.#closed = reason
    const running = [...this.#running.values()]
    for (const { stop } of running) stop.abort(reason)
    await Promise.all(running.map(({ result }) => ended(result)))
  }

  #start(key: string, work: Work<T>): Running<T> {
    const stop = new AbortController()
    const waiters = new Set<Waiter>()
    const progress = new Map<string, FileProgress>()
    const report = (report: FileProgress): void => {
      progress.set(report.path, report)
      for (const { onProgress } of waiters) onProgress(report)
    }
    const result = Promise.resolve()
      .then(() => work(stop.signal, report))
      .finally(() => this.#running.delete(key))
    const running = { result, stop, waiters, progress }
    this.#running.set(key, running)
    return running
  }
}

function ended(result: Promise<unknown>): Promise<unknown> {
  return result.catch(() => {})
}
