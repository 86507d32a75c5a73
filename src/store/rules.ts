import { z } from 'zod'
import type { Rule } from '../core/types.ts'
import type { Sql } from './database.ts'

const ruleRow = z.object({
  model_name: z.string(),
  min_replicas: z.number(),
  max_replicas: z.number(),
  updated_at: z.number(),
})
export type RuleRow = z.infer<typeof ruleRow>

export async function listRules(sql: Sql): Promise<RuleRow[]> {
  return ruleRow.array().parse(await sql.query('select * from rules order by model_name'))
}

export function toRule(row: RuleRow): Rule {
  return { modelName: row.model_name, minReplicas: row.min_replicas, maxReplicas: row.max_replicas }
}

export async function saveRule(tx: Sql, rule: Rule): Promise<RuleRow> {
  const rows = await tx.query(
    `insert into rules (model_name, min_replicas, max_replicas, updated_at) values ($1, $2, $3, now_ms())
     on conflict (model_name) do update set min_replicas = excluded.min_replicas,
       max_replicas = excluded.max_replicas, updated_at = excluded.updated_at
     returning *`,
    [rule.modelName, rule.minReplicas, rule.maxReplicas],
  )
  return ruleRow.parse(rows[0])
}

/** False when there is no such rule. */
export async function deleteRule(tx: Sql, modelName: string): Promise<boolean> {
  return (await tx.query('delete from rules where model_name = $1 returning model_name', [modelName])).length === 1
}
