/** Time as a dependency. Everything that waits or reads the time is handed one of these, so tests own time. */
export interface Clock {
  nowMs(): number
  /** Calls back once after `delayMs`; the returned function cancels. */
  after(delayMs: number, callback: () => void): () => void
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs)
    return () => clearTimeout(timer)
  },
}

/** Resolves when `work` has, or after so long without it. Never rejects. */
export function atMost(clock: Clock, limitMs: number, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(limitMs, resolve)
    const done = (): void => {
      cancel()
      resolve()
    }
    work.then(done, done)
  })
}

/** Resolves after `delayMs`, or at once when `signal` is aborted (it never rejects: the caller looks at the signal). */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const done = (): void => {
      cancel()
      sleepers?.delete(done)
      resolve()
    }
    const cancel = clock.after(delayMs, done)
    const sleepers = signal && sleepersOf(signal)
    sleepers?.add(done)
  })
}

/**
 * The sleepers of each signal. One listener serves all of them, because a listener for each sleep costs more than the
 * sleep.
 */
const allSleepers = new WeakMap<AbortSignal, Set<() => void>>()

function sleepersOf(signal: AbortSignal): Set<() => void> {
  const known = allSleepers.get(signal)
  if (known) return known
  const sleepers = new Set<() => void>()
  allSleepers.set(signal, sleepers)
  const wakeAll = (): void => {
    for (const wake of sleepers) wake()
  }
  signal.addEventListener('abort', wakeAll, { once: true })
  return sleepers
}
