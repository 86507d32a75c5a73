/** Those that are not given are as usual. */
export interface Pace {
  turnPeriodMs: number
  leaseTtlMs: number
  /** So long without a turn is a break in what is heard. */
  deafAfterMs?: number
  /** How often everything is read, however sure we are of what has changed. */
  wholeEveryMs?: number
  /** How long a heartbeat that tells nothing new may wait to be written with others. */
  quietWaitMs?: number
}

/** Three turns may fail before another frontend may lead. */
export const PACE: Pace = { turnPeriodMs: 3000, leaseTtlMs: 10_000 }
