import type { Clock } from '../../../platform/run/clock.ts'

/** Finer than a millisecond, and never set back. */
export const steadyClock: Clock = {
  nowMs: () => performance.now(),
  after(delayMs, callback) {
    // Timers fire up to a millisecond early by this clock, and a request must not be sent before it is due.
    const timer = setTimeout(callback, Math.ceil(delayMs))
    return () => clearTimeout(timer)
  },
}
