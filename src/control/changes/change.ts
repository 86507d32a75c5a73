import type { Logger } from '../../platform/run/log.ts'
import type { Database, Sql } from '../../store/sql.ts'
import { appendEvent, type NewEvent } from '../../store/nouns/events.ts'
import { actingNow } from './actor-context.ts'
import type { EventFeed } from './event-feed.ts'

export interface ChangeDeps {
  db: Database
  events: Pick<EventFeed, 'wake'>
  log: Logger
  onChange: () => void
}

/** Defaults to the caller. */
export type Told = Omit<NewEvent, 'actor' | 'address'> & { actor?: string }
export type Tell = (event: Told) => Promise<void>

/**
 * Writes one change and its events in one transaction: neither exists without the other. A change without an event has
 * changed nothing, and wakes no loop.
 */
export async function change<T>(deps: ChangeDeps, work: (tx: Sql, tell: Tell) => Promise<T>): Promise<T> {
  const { result, told } = await deps.db.transaction(async (tx) => {
    const told: NewEvent[] = []
    const acting = actingNow()
    const tell = async (said: Told): Promise<void> => {
      const event = { ...acting, ...said }
      told.push(event)
      await appendEvent(tx, event)
    }
    return { result: await work(tx, tell), told }
  })
  for (const { actor, address, action, nodeId, modelName, reason } of told) {
    deps.log.info({ actor, address: address ?? undefined, action, node: nodeId, model: modelName }, reason)
  }
  if (told.length === 0) return result
  deps.onChange()
  deps.events.wake()
  return result
}
