import type { EventQueue } from '../event-queue.ts'

const STEP_MS = 1

/** Runs the events of a queue by the clock on the wall, for tests that are written for real parts. The function ends that. */
export function inRealTime(queue: EventQueue): () => Promise<void> {
  const over = new AbortController()
  queue.nowMs = Date.now()
  const run = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await queue.runUntil(Math.max(queue.nowMs, Date.now()), () => !over.signal.aborted)
      await new Promise((resolve) => setTimeout(resolve, STEP_MS))
    }
  }
  const ended = run()
  return async () => {
    over.abort()
    await ended
  }
}
