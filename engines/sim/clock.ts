/** Time as a dependency; the same shape as Flotilla's own clock, repeated here because an engine imports nothing of it. */
export interface Clock {
  nowMs(): number
  /** Calls back once after `delayMs`; the returned function cancels. */
  after(delayMs: number, callback: () => void): () => void
}

/** Never goes backwards, so that a changed wall clock neither stalls nor floods a stream. */
export const steadyClock: Clock = {
  nowMs() {
    const [seconds, nanoseconds] = process.hrtime()
    return seconds * 1000 + nanoseconds / 1e6
  },
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs)
    return () => clearTimeout(timer)
  },
}

/** Resolves after `delayMs`, or at once when `signal` is aborted (it never rejects: the caller looks at the signal). */
export function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const done = (): void => {
      cancel()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const cancel = clock.after(delayMs, done)
    signal.addEventListener('abort', done, { once: true })
  })
}
