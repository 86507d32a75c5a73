/** The facts that decide whether a log is kept. */
interface Kept {
  /** It has no writer and no line that is not on disk. */
  isIdle: boolean
  lastAt: number
  bytes: number
}

const MOST_LOGS = 500
const MOST_BYTES = 1024 ** 3
const MOST_AGE_MS = 14 * 24 * 60 * 60 * 1000

/** The logs to remove: old ones, and, beyond the limits of number and size, those that ended first. */
export function surplusLogs<T extends Kept>(logs: readonly T[], nowMs: number): T[] {
  let count = logs.length
  let bytes = logs.reduce((sum, log) => sum + log.bytes, 0)
  return logs
    .filter(({ isIdle }) => isIdle)
    .toSorted((a, b) => a.lastAt - b.lastAt)
    .filter((log) => {
      const isSurplus = nowMs - log.lastAt > MOST_AGE_MS || count > MOST_LOGS || bytes > MOST_BYTES
      if (!isSurplus) return false
      count -= 1
      bytes -= log.bytes
      return true
    })
}
