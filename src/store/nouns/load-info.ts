import { z } from 'zod'
import type { Model } from '../../core/types.ts'
import type { Sql } from '../sql.ts'
import { jsonText } from '../json-text.ts'

const infoRow = z
  .object({
    model_name: z.string(),
    engine: z.string(),
    engine_version: z.string().nullable(),
    source: z.string().nullable(),
    options: jsonText(z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]))),
    revision: z.string(),
    node_name: z.string(),
    load_ms: z.number(),
    loaded_at: z.number(),
  })
  .transform((row): LoadInfo => ({
    modelName: row.model_name,
    engine: row.engine,
    engineVersion: row.engine_version,
    source: row.source,
    options: row.options,
    revision: row.revision,
    nodeName: row.node_name,
    loadMs: row.load_ms,
    loadedAtMs: row.loaded_at,
  }))

/** What was last loaded with success, as it was then: it outlives replicas, and the model itself. */
export interface LoadInfo extends Pick<Model, 'engine' | 'source' | 'options' | 'revision'> {
  modelName: string
  engineVersion: string | null
  nodeName: string
  /** From its placement until it served. */
  loadMs: number
  loadedAtMs: number
}

/** Of models that there are: people look at these several times a second, and rows outlive their models. */
export async function listLoadInfo(sql: Sql): Promise<LoadInfo[]> {
  const text = 'select i.* from models m join model_load_info i on i.model_name = m.name order by i.model_name'
  return infoRow.array().parse(await sql.query(text))
}

/** Undefined when it never was loaded. */
export async function findLoadInfo(sql: Sql, modelName: string): Promise<LoadInfo | undefined> {
  const rows = await sql.query('select * from model_load_info where model_name = $1', [modelName])
  return infoRow.array().parse(rows)[0]
}

/** To be called in the transaction that makes the replica ready. */
export async function saveLoadInfo(tx: Sql, info: Omit<LoadInfo, 'loadedAtMs'>): Promise<void> {
  const { modelName, engine, engineVersion, source, options, revision, nodeName, loadMs } = info
  await tx.query(
    `insert into model_load_info
       (model_name, engine, engine_version, source, options, revision, node_name, load_ms, loaded_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, now_ms())
     on conflict (model_name) do update set engine = excluded.engine, engine_version = excluded.engine_version,
       source = excluded.source, options = excluded.options, revision = excluded.revision,
       node_name = excluded.node_name, load_ms = excluded.load_ms, loaded_at = excluded.loaded_at`,
    [modelName, engine, engineVersion, source, JSON.stringify(options), revision, nodeName, Math.round(loadMs)],
  )
}
