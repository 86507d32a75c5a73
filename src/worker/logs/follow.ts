import type { LogLine } from '../../api/admin/schemas.ts'
import { look, type LogQuery, type LookedAt } from './look.ts'

export interface Followed extends LookedAt {
  /** Resolves when there is a line after this number, or the signal is aborted. */
  news(after: number, signal: AbortSignal): Promise<void>
}

export interface Batch {
  /** Lines that were dropped before this reader came for them; null when it is not known how many. Told before the lines. */
  skipped: number | null
  lines: LogLine[]
}

/** What `read` answers when it is not told. */
const DEFAULT_LIMIT = 1000
/** A reader is given so many lines at a time. While it does not come for more, that is all that is held for it. */
const MOST_AT_ONCE = 1000

/** The lines that are there: the last ones, or the first ones after a number. */
export async function readLines(at: LookedAt, query: LogQuery): Promise<LogLine[]> {
  const { after, limit = DEFAULT_LIMIT } = query
  if (after !== undefined) return (await look(at, { after, query, limit })).lines
  return (await look(at, { after: 0, query })).lines.slice(-limit)
}

/**
 * The same lines, then each new one, exactly once and in order, until the signal is aborted. Nothing is pushed: the reader
 * takes a batch when it is ready for one, and finds out then what it was too slow for.
 */
export async function* followLines(at: Followed, query: LogQuery, signal: AbortSignal): AsyncGenerator<Batch, void> {
  const seen = new WeakMap()
  // A number from another life of this node's logs would wait for ever.
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
