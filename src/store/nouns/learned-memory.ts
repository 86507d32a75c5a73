import { z } from 'zod'
import type { LearnedMemory } from '../../core/types.ts'
import type { Sql } from '../sql.ts'
import { queryAmong, type Among } from '../query-among.ts'

/** Part of the key, so it cannot be null there. */
const NO_VERSION = ''

const learnedRow = z
  .object({
    model_name: z.string(),
    revision: z.string(),
    engine_version: z.string(),
    device_kind: z.string(),
    vram: z.number(),
    ram: z.number(),
    learned_from: z.enum(['measured', 'out of memory']),
  })
  .transform((row): LearnedMemory => ({
    modelName: row.model_name,
    revision: row.revision,
    engineVersion: row.engine_version === NO_VERSION ? null : row.engine_version,
    deviceKind: row.device_kind,
    vram: row.vram,
    ram: row.ram,
    learnedFrom: row.learned_from,
  }))
const learnedRows = learnedRow.array()

/** Of models that there are, or only of these; what is known of others waits for their return. */
export async function listLearned(sql: Sql, modelNames?: Among): Promise<LearnedMemory[]> {
  const textOf = (where: string): string =>
    `select l.* from learned_memory l join models m on m.name = l.model_name and m.revision = l.revision ${where}
     order by l.model_name, l.device_kind, l.engine_version`
  return learnedRows.parse(await queryAmong(sql, 'l.model_name', modelNames, textOf))
}

/** The models of which something was learned within this time. Rows of models and revisions that are gone are not looked at. */
export async function namesLearnedOf(sql: Sql, withinMs: number): Promise<string[]> {
  const text = `select distinct l.model_name
    from models m join learned_memory l on l.model_name = m.name and l.revision = m.revision
    where l.updated_at >= (select now_ms()) - $1`
  return (await sql.query<{ model_name: string }>(text, [withinMs])).map(({ model_name: name }) => name)
}

export async function saveLearned(tx: Sql, learned: LearnedMemory): Promise<void> {
  const { modelName, revision, engineVersion, deviceKind, vram, ram, learnedFrom } = learned
  await tx.query(
    `insert into learned_memory (model_name, revision, engine_version, device_kind, vram, ram, learned_from, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, now_ms())
     on conflict (model_name, revision, engine_version, device_kind) do update set
       vram = excluded.vram, ram = excluded.ram, learned_from = excluded.learned_from, updated_at = excluded.updated_at`,
    [modelName, revision, engineVersion ?? NO_VERSION, deviceKind, vram, ram, learnedFrom],
  )
}
