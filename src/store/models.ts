import { z } from 'zod'
import type { Model } from '../core/types.ts'
import type { Sql } from './database.ts'

const modelRow = z.object({
  name: z.string(),
  engine: z.string(),
  source: z.string().nullable(),
  options: z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]))),
  revision: z.string(),
  created_at: z.number(),
  updated_at: z.number(),
})
export type ModelRow = z.infer<typeof modelRow>

export async function listModels(sql: Sql): Promise<ModelRow[]> {
  return modelRow.array().parse(await sql.query('select * from models order by name'))
}

export async function hasModels(tx: Sql): Promise<boolean> {
  return (await tx.query('select 1 from models limit 1')).length > 0
}

/** Inserts or replaces. The same meaning keeps its revision, so that saving it again restarts nothing. */
export async function saveModel(tx: Sql, model: Model): Promise<ModelRow> {
  const rows = await tx.query(
    `insert into models (name, engine, source, options, revision, created_at, updated_at)
     values ($1, $2, $3, $4, $5, now_ms(), now_ms())
     on conflict (name) do update set engine = excluded.engine, source = excluded.source, options = excluded.options,
       revision = excluded.revision, updated_at = excluded.updated_at
     returning *`,
    [model.name, model.engine, model.source, JSON.stringify(model.options), model.revision],
  )
  return modelRow.parse(rows[0])
}

/** False when there is no such model. */
export async function deleteModel(tx: Sql, name: string): Promise<boolean> {
  return (await tx.query('delete from models where name = $1 returning name', [name])).length === 1
}
