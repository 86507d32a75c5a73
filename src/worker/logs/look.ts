import type { z } from 'zod'
import type { LogLine, logQuery } from '../../api/admin/schemas.ts'
import type { ReplicaLog } from './replica-log.ts'

/** What a reader asks for. */
export type LogQuery = Omit<z.infer<typeof logQuery>, 'follow'>

/** The logs that a reader looks at. Which they are may change whenever something was waited for. */
export interface LookedAt {
  find(): readonly ReplicaLog[]
  /** The newest number of the node. */
  lastSeq(): number
}

export interface LookFor {
  /** The number of the last line that need not be shown. */
  after: number
  query: LogQuery
  /** The first so many lines of those that match; all of them when it is not said. */
  limit?: number
  /** How many lines of each log the reader has seen or been told of; brought up to date. */
  seen?: WeakMap<ReplicaLog, number>
}

export interface Look {
  /** In the order of their numbers. */
  lines: LogLine[]
  /** The reader has been shown all that it asked for up to this number. */
  upTo: number
  /** Lines that were not kept long enough to be shown, whether they match or not; null when they were not counted. */
  skipped: number | null
}

/** What some logs hold, as of one moment. */
export async function look(at: LookedAt, wanted: LookFor): Promise<Look> {
  const stored = new Map<ReplicaLog, Stored>()
  for (;;) {
    const logs = at.find()
    const unread = logs.filter((log) => log.storedSeq > (stored.get(log)?.upTo ?? wanted.after))
    // From here on nothing is waited for, so nothing is written meanwhile: no line is missed and none is there twice.
    if (unread.length === 0) {
      const lines = logs.flatMap((log) => log.after(wanted.after, stored.get(log)?.lines ?? []))
      return choose(lines, logs, at.lastSeq(), wanted)
    }
    for (const log of unread) {
      const upTo = log.storedSeq
      stored.set(log, { upTo, lines: await log.readStored() })
    }
  }
}

interface Stored {
  /** What was on disk only when it was read. */
  upTo: number
  lines: LogLine[]
}

function choose(
  lines: readonly LogLine[],
  logs: readonly ReplicaLog[],
  lastSeq: number,
  { after, query, limit = Infinity, seen = new WeakMap() }: LookFor,
): Look {
  const matching = lines.filter(matcherOf(query)).toSorted((a, b) => a.seq - b.seq)
  const upTo = matching.length > limit ? matching[limit - 1]!.seq : lastSeq
  let skipped: number | null = 0
  for (const log of logs) {
    const known = seen.get(log) ?? log.countUpTo(after)
    skipped = known === undefined || skipped === null ? null : skipped + Math.max(0, log.dropped - known)
    seen.set(log, Math.max(log.dropped, log.countUpTo(upTo) ?? 0))
  }
  return { lines: matching.slice(0, limit), upTo, skipped }
}

function matcherOf({ stream, grep }: LogQuery): (line: LogLine) => boolean {
  const wanted = grep?.toLowerCase() ?? ''
  return (line) => (!stream || line.stream === stream) && line.text.toLowerCase().includes(wanted)
}
