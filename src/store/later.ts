/**
 * SQL for the time of a change, later than the one before it even within a millisecond or after the clock was set back: a
 * caller with the earlier time has not seen the later change.
 */
export function later(column: string): string {
  return `case when ${column} >= now_ms() then ${column} + 1 else now_ms() end`
}
