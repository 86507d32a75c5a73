import type { IncomingMessage } from 'node:http'
import { ifUnchanged } from '../../../api/admin/route.ts'
import { AppError } from '../../../platform/errors.ts'
import type { Sql } from '../../../store/sql.ts'
import { newestEventOf } from '../../../store/nouns/events.ts'
import { readQuery } from '../query.ts'

/** When the caller last saw what it saves now; undefined when it does not say. */
export function seenAt(request: IncomingMessage): number | undefined {
  return readQuery(request, ifUnchanged).if_updated_at
}

/** Whether it has been changed since. A missing one counts as changed at 0. */
export function isChangedSince(updatedAt: number | undefined, seenMs: number | undefined): boolean {
  return seenMs !== undefined && (updatedAt ?? 0) !== seenMs
}

export interface Conflict {
  /** What was to be saved, at the beginning of a sentence. */
  what: string
  modelName: string
  /** The kinds of events about it. */
  actions: readonly [string, ...string[]]
  /** As it is now; null when it is gone. */
  current: object | null
}

/** Names the actor of the other change, as far as events tell, and holds the current state, so that both can be compared. */
export async function conflictError(sql: Sql, { what, modelName, actions, current }: Conflict): Promise<AppError> {
  const event = await newestEventOf(sql, actions, modelName)
  const verb = current === null ? 'was removed' : 'was changed'
  const who = event ? ` by ${event.actor} at ${new Date(event.at).toISOString()} (${event.reason})` : ''
  const text = `${what} ${verb} meanwhile${who}. Nothing was saved: look at it as it is now, and save again.`
  return new AppError('conflict', text, { details: { param: 'if_updated_at', current } })
}
