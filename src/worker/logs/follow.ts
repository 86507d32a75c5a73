import type { LogLine } from '../../api/admin/schemas.ts'
import { look, type LogQuery, type LookedAt } from './look.ts'

export interface Followed extends LookedAt {
  /** Resolves when there is a line after this number, or the signal is aborted. */
  news(after: number, signal: AbortSignal): Promise<void>
}

export interface Batch {
  /**
   * Lines that were dropped before this reader took them; null when their number is unknown. Reported before the lines.
   */
  skipped: number | null
  lines: LogLine[]
}

/** The limit of `read` when the query has none. */
const DEFAULT_LIMIT = 1000
/** How many lines a reader gets at a time. This is also all that is held for a reader that does not come for more. */
const MOST_AT_ONCE = 1000

/** The lines that exist now: the last ones, or the first ones after a number. */
export async function readLines(at: LookedAt, query: LogQuery): Promise<LogLine[]> {
  const { after, limit = DEFAULT_LIMIT } = query
  if (after !== undefined) return (await look(at, { after, query, limit })).lines
  return (await look(at, { after: 0, query })).lines.slice(-limit)
}

/**
 * The existing lines, then each new one, exactly once and in order, until the signal is aborted. Nothing is pushed: the
 * reader takes a batch when it is ready, and learns then which lines it was too slow for.
 */
export async function* followLines(at: Followed, query: LogQuery, signal: AbortSignal): AsyncGenerator<Batch, void> {
  const seen = new WeakMap()
  // A number from a deleted earlier log of this node would wait for ever.
  let after = Math.min(query.after ?? 0, at.lastSeq())
  if (query.after === undefined) {
    const { lines, upTo } = await look(at, { after, query, seen })
    after = upTo
    if (lines.length > 0) yield { skipped: 0, lines: lines.slice(-(query.limit ?? DEFAULT_LIMIT)) }
  }
  while (!signal.aborted) {
    const { lines, upTo, skipped } = await look(at, { after, query, limit: MOST_AT_ONCE, seen })
    after = upTo
    if (signal.aborted) return
    if (lines.length > 0 || skipped !== 0) yield { skipped, lines }
    await at.news(after, signal)
  }
}
