import { z } from 'zod'
import { fromHeaderMessage, toHeaderMessage } from '../../api/header-message.ts'
import { modelHeader } from '../../api/model-header.ts'
import type { ModelFacts } from '../../core/types.ts'
import type { Sql } from '../sql.ts'
import { jsonText } from '../json-text.ts'
import { queryAmong, type Among } from '../query-among.ts'

const factsRow = z
  .object({
    model_name: z.string(),
    revision: z.string(),
    payload_bytes: z.number().nullable(),
    header: jsonText(modelHeader).nullable(),
    problem: z.string().nullable(),
    retry_at: z.number().nullable(),
  })
  .transform((row): StoredFacts => ({
    modelName: row.model_name,
    revision: row.revision,
    payloadBytes: row.payload_bytes,
    header: row.header && fromHeaderMessage(row.header),
    problem: row.problem,
    retryAtMs: row.retry_at,
  }))
const factsRows = factsRow.array()

/** With why they could not be read, and when that is tried again. */
export interface StoredFacts extends ModelFacts {
  problem: string | null
  retryAtMs: number | null
}

/** Of models that there are, or only of these. */
export async function listFacts(sql: Sql, modelNames?: Among): Promise<StoredFacts[]> {
  const textOf = (where: string): string =>
    `select f.* from models m join model_facts f on f.model_name = m.name ${where} order by f.model_name`
  return factsRows.parse(await queryAmong(sql, 'f.model_name', modelNames, textOf))
}

export async function saveFacts(tx: Sql, facts: StoredFacts): Promise<void> {
  const { modelName, revision, payloadBytes, header, problem, retryAtMs } = facts
  await tx.query(
    `insert into model_facts (model_name, revision, payload_bytes, header, problem, retry_at, read_at)
     values ($1, $2, $3, $4, $5, $6, now_ms())
     on conflict (model_name) do update set revision = excluded.revision, payload_bytes = excluded.payload_bytes,
       header = excluded.header, problem = excluded.problem, retry_at = excluded.retry_at, read_at = excluded.read_at`,
    [modelName, revision, payloadBytes, header && JSON.stringify(toHeaderMessage(header)), problem, retryAtMs],
  )
}
