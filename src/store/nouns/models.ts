import { z } from 'zod'
import type { Model } from '../../core/types.ts'
import type { Sql } from '../sql.ts'
import { jsonText } from '../json-text.ts'
import { queryAmong, type Among } from '../query-among.ts'
import { later } from '../later.ts'

const modelRow = z
  .object({
    name: z.string(),
    engine: z.string(),
    source: z.string().nullable(),
    options: jsonText(z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]))),
    memory: jsonText(z.object({ vram: z.number(), ram: z.number() })).nullable(),
    anti_affinity: z.string().nullable(),
    revision: z.string(),
    origin: z.enum(['api', 'folder']),
    created_at: z.number(),
    updated_at: z.number(),
  })
  .transform(({ anti_affinity, created_at, updated_at, ...row }): StoredModel => ({
    ...row,
    antiAffinity: anti_affinity,
    createdMs: created_at,
    updatedMs: updated_at,
  }))
const modelRows = modelRow.array()

export interface StoredModel extends Model {
  /** Its source: an admin, or the folder that a frontend serves. */
  origin: 'api' | 'folder'
  createdMs: number
  updatedMs: number
}

/** All of them, or only these. */
export async function listModels(sql: Sql, names?: Among): Promise<StoredModel[]> {
  const rows = await queryAmong(sql, 'name', names, (where) => `select * from models ${where} order by name`)
  return modelRows.parse(rows)
}

export async function hasModels(tx: Sql): Promise<boolean> {
  return (await tx.query('select 1 from models limit 1')).length > 0
}

/** Inserts or replaces. The same meaning keeps its revision, so that saving it again restarts nothing. */
export async function saveModel(tx: Sql, model: Model, origin: StoredModel['origin'] = 'api'): Promise<StoredModel> {
  const { name, engine, source, options, memory, antiAffinity, revision } = model
  const rows = await tx.query(
    `insert into models (name, engine, source, options, memory, anti_affinity, revision, origin, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, now_ms(), now_ms())
     on conflict (name) do update set engine = excluded.engine, source = excluded.source, options = excluded.options,
       memory = excluded.memory, anti_affinity = excluded.anti_affinity, revision = excluded.revision,
       origin = excluded.origin, updated_at = ${later('models.updated_at')}
     returning *`,
    [name, engine, source, JSON.stringify(options), memory && JSON.stringify(memory), antiAffinity, revision, origin],
  )
  return modelRow.parse(rows[0])
}

/** False when there is no such model. */
export async function deleteModel(tx: Sql, name: string): Promise<boolean> {
  return (await tx.query('delete from models where name = $1 returning name', [name])).length === 1
}
