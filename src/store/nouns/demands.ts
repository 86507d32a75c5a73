import { z } from 'zod'
import type { Demand } from '../../core/types.ts'
import type { Sql } from '../sql.ts'

const demandRow = z
  .object({ model_name: z.string(), since: z.number(), wanted_until: z.number() })
  .transform((row): Demand => ({ modelName: row.model_name, sinceMs: row.since, wantedUntilMs: row.wanted_until }))
const demandRows = demandRow.array()

/** Oldest first: the longest wait is served first. */
export async function listDemands(sql: Sql): Promise<Demand[]> {
  return demandRows.parse(await sql.query('select * from demands order by since, model_name'))
}

/** One for each model, however many wait. It ends when the last of them no longer does. */
export async function saveDemand(tx: Sql, modelName: string, wantedMs: number): Promise<void> {
  await tx.query(
    `insert into demands (model_name, since, wanted_until) values ($1, now_ms(), now_ms() + $2)
     on conflict (model_name) do update set
       since = case when demands.wanted_until < now_ms() then now_ms() else demands.since end,
       wanted_until = case when demands.wanted_until > excluded.wanted_until then demands.wanted_until
         else excluded.wanted_until end`,
    [modelName, wantedMs],
  )
}

/** Demands that have ended: no gateway renewed them. */
export async function deleteExpiredDemands(tx: Sql): Promise<void> {
  await tx.query('delete from demands where wanted_until < now_ms()')
}

/** The model is ready: waiting clients are served at once, and idle replicas may then make room for others. */
export async function settleDemand(tx: Sql, modelName: string, withinMs: number): Promise<void> {
  await tx.query(
    'update demands set wanted_until = now_ms() + $2 where model_name = $1 and wanted_until > now_ms() + $2',
    [modelName, withinMs],
  )
}

export async function deleteDemand(tx: Sql, modelName: string): Promise<void> {
  await tx.query('delete from demands where model_name = $1', [modelName])
}
