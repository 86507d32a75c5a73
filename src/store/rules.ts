import { z } from 'zod'
import { routePolicy } from '../api/route-policy.ts'
import type { Rule } from '../core/types.ts'
import type { Sql } from './database.ts'
import { jsonText } from './json-text.ts'

const ruleRow = z.object({
  model_name: z.string(),
  min_replicas: z.number(),
  max_replicas: z.number(),
  node_selector: jsonText(z.record(z.string(), z.string())),
  route_policy: routePolicy,
  updated_at: z.number(),
})
export type RuleRow = z.infer<typeof ruleRow>

export async function listRules(sql: Sql): Promise<RuleRow[]> {
  return ruleRow.array().parse(await sql.query('select * from rules order by model_name'))
}

export function toRule(row: Omit<RuleRow, 'updated_at'>): Rule {
  return {
    modelName: row.model_name,
    nodeSelector: row.node_selector,
    routePolicy: row.route_policy,
    minReplicas: row.min_replicas,
    maxReplicas: row.max_replicas,
  }
}

export async function saveRule(tx: Sql, rule: Rule): Promise<RuleRow> {
  const rows = await tx.query(
    `insert into rules (model_name, min_replicas, max_replicas, node_selector, route_policy, updated_at)
     values ($1, $2, $3, $4, $5, now_ms())
     on conflict (model_name) do update set min_replicas = excluded.min_replicas,
       max_replicas = excluded.max_replicas, node_selector = excluded.node_selector,
       route_policy = excluded.route_policy, updated_at = excluded.updated_at
     returning *`,
    [rule.modelName, rule.minReplicas, rule.maxReplicas, JSON.stringify(rule.nodeSelector), rule.routePolicy],
  )
  return ruleRow.parse(rows[0])
}

/** False when there is no such rule. */
export async function deleteRule(tx: Sql, modelName: string): Promise<boolean> {
  return (await tx.query('delete from rules where model_name = $1 returning model_name', [modelName])).length === 1
}
