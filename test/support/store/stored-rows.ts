import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestDatabase } from '../postgres/postgres.ts'

export interface StoredEvent {
  action: string
  reason: string
}

/** Rows of the store, read behind Flotilla's back: of the embedded one in this data folder, or of a database. */
export async function storedRows(store: string | TestDatabase, sql: string): Promise<Record<string, unknown>[]> {
  if (typeof store !== 'string') return store.run(sql)
  const db = new DatabaseSync(join(store, 'flotilla.db'), { readOnly: true })
  try {
    return db.prepare(sql).all()
  } finally {
    db.close()
  }
}

/** What happened to the replicas of a model, in order: `placed`, `ready`, `evicted` … with the reason. */
export async function replicaEvents(store: string | TestDatabase, model: string): Promise<StoredEvent[]> {
  const rows = await storedRows(
    store,
    `select action, reason from events where action like 'replica.%' and model_name = '${model}' order by id`,
  )
  return rows.map(({ action, reason }) => ({
    action: String(action).slice('replica.'.length),
    reason: String(reason),
  }))
}
