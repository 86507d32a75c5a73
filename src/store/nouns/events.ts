import { z } from 'zod'
import type { Sql } from '../sql.ts'

export interface NewEvent {
  /** `admin`, `config`, `node <name>` or `control`. */
  actor: string
  /** Where a call came from that led to it. */
  address?: string | null
  /** `noun.verb`. */
  action: string
  nodeId?: string
  modelName?: string
  /** Why, in a sentence for people. No secrets. */
  reason: string
  data?: Record<string, unknown>
}

const eventRow = z.object({
  id: z.number(),
  at: z.number(),
  actor: z.string(),
  address: z.string().nullable(),
  action: z.string(),
  node_id: z.string().nullable(),
  model_name: z.string().nullable(),
  reason: z.string(),
  data: z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(z.record(z.string(), z.unknown())),
})
const eventRows = eventRow.array()
export type EventRow = z.infer<typeof eventRow>

/**
 * To be called in the transaction of the change itself. The number is the highest plus one: transactions are
 * serializable, so of two that take the same number one is run again, and numbers are without gaps in order of commit. A
 * sequence would be cheaper and give neither.
 */
export async function appendEvent(tx: Sql, event: NewEvent): Promise<void> {
  await tx.query(
    `insert into events (id, at, actor, address, action, node_id, model_name, reason, data)
     select coalesce(max(id), 0) + 1, now_ms(), $1, $2, $3, $4, $5, $6, $7 from events`,
    [
      event.actor,
      event.address ?? null,
      event.action,
      event.nodeId ?? null,
      event.modelName ?? null,
      event.reason,
      JSON.stringify(event.data ?? {}),
    ],
  )
}

/** In order, from the one after `afterId`. */
export async function listEvents(sql: Sql, afterId: number, most: number): Promise<EventRow[]> {
  const rows = await sql.query('select * from events where id > $1 order by id limit $2', [afterId, most])
  return eventRows.parse(rows)
}

export interface EventsAsked {
  nodeId?: string | undefined
  modelName?: string | undefined
  /** Only those before this one. */
  beforeId?: number | undefined
  most: number
}

/** The newest first. There are ten thousand at most, which are looked through in milliseconds without an index. */
export async function listPastEvents(sql: Sql, asked: EventsAsked): Promise<EventRow[]> {
  const wanted: [condition: string, value: string | number | undefined][] = [
    ['node_id =', asked.nodeId],
    ['model_name =', asked.modelName],
    ['id <', asked.beforeId],
  ]
  const values: (string | number)[] = []
  const conditions: string[] = []
  for (const [condition, value] of wanted) {
    if (value === undefined) continue
    values.push(value)
    conditions.push(`${condition} $${values.length}`)
  }
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')} `
  const text = `select * from events ${where}order by id desc limit $${values.length + 1}`
  return eventRows.parse(await sql.query(text, [...values, asked.most]))
}

/** 0 when nothing has ever happened. */
export async function newestEventId(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ id: number }>('select coalesce(max(id), 0) as id from events')
  return row!.id
}

/** Of one model when it is named. Undefined when none of these has happened, or it was long ago. */
export async function newestEventOf(
  sql: Sql,
  actions: readonly [string, ...string[]],
  modelName?: string,
): Promise<EventRow | undefined> {
  const places = actions.map((_, i) => `$${i + 1}`).join(', ')
  const ofModel = modelName === undefined ? '' : ` and model_name = $${actions.length + 1}`
  const text = `select * from events where action in (${places})${ofModel} order by id desc limit 1`
  const values = modelName === undefined ? actions : [...actions, modelName]
  return eventRows.parse(await sql.query(text, values))[0]
}

/** Keeps the newest `most` of the last `maxAgeMs`, and always the very newest, from which the numbers go on. */
export async function pruneEvents(tx: Sql, { most, maxAgeMs }: { most: number; maxAgeMs: number }): Promise<void> {
  const newestId = await newestEventId(tx)
  await tx.query('delete from events where id <= $1 or (at < (select now_ms()) - $2 and id < $3)', [
    newestId - most,
    maxAgeMs,
    newestId,
  ])
}
