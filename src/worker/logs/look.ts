import type { z } from 'zod'
import type { LogLine, logQuery } from '../../api/admin/schemas.ts'
import type { ReplicaLog } from './replica-log.ts'

/** A reader's query. */
export type LogQuery = Omit<z.infer<typeof logQuery>, 'follow'>

/** The logs that a reader looks at. Their list may change during every await. */
export interface LookedAt {
  find(): readonly ReplicaLog[]
  /** The newest number on the node. */
  lastSeq(): number
}

export interface LookFor {
  /** Lines up to this number are left out. */
  after: number
  query: LogQuery
  /** The first so many matching lines; all of them when undefined. */
  limit?: number
  /** How many lines of each log the reader has seen or was told about; updated by the call. */
  seen?: WeakMap<ReplicaLog, number>
}

export interface Look {
  /** Ordered by number. */
  lines: LogLine[]
  /** The reader has been given all matching lines up to this number. */
  upTo: number
  /** Lines that were dropped before they could be shown, matching or not; null when they were not counted. */
  skipped: number | null
}

/** What some logs hold, at one moment. */
export async function look(at: LookedAt, wanted: LookFor): Promise<Look> {
  const stored = new Map<ReplicaLog, Stored>()
  for (;;) {
    const logs = at.find()
    const unread = logs.filter((log) => log.storedSeq > (stored.get(log)?.upTo ?? wanted.after))
    // No await from here on, so no line is written meanwhile: none is missed and none appears twice.
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
  /** Lines that had moved to the disk by the time it was read. */
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
