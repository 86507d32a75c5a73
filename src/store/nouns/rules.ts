import { z } from 'zod'
import { ruleDecision, type RuleDecision } from '../../api/rule-decision.ts'
import { routePolicy } from '../../api/route-policy.ts'
import type { Rule } from '../../core/types.ts'
import type { Sql } from '../sql.ts'
import { jsonText } from '../json-text.ts'
import { queryAmong, type Among } from '../query-among.ts'
import { later } from '../later.ts'

const ruleRow = z.object({
  model_name: z.string(),
  min_replicas: z.number(),
  max_replicas: z.number(),
  node_selector: jsonText(z.record(z.string(), z.union([z.string(), z.array(z.string())]))),
  route_policy: routePolicy,
  spread_all: z.number().transform((flag) => flag === 1),
  scale_to_zero_after_s: z.number().nullable(),
  source: z.enum(['api', 'config']),
  unsatisfiable_until: z.number().nullable(),
  unsatisfiable_ticks: z.number(),
  last_decision: jsonText(ruleDecision).nullable(),
  updated_at: z.number(),
})
const ruleRows = ruleRow.array()
export type RuleRow = z.infer<typeof ruleRow>

/** The settings of a rule, without what came of it. */
export type RuleSettings = Omit<Rule, 'unsatisfiableUntilMs' | 'unsatisfiableTicks'>

/** Whether a rule is tried at the moment, and why it could not be met. */
export interface Breaker {
  untilMs: number | null
  ticks: number
  decision: RuleDecision | null
}

/** All of them, or only those of these models. */
export async function listRules(sql: Sql, modelNames?: Among): Promise<RuleRow[]> {
  const textOf = (where: string): string => `select * from rules ${where} order by model_name`
  return ruleRows.parse(await queryAmong(sql, 'model_name', modelNames, textOf))
}

export async function findRule(sql: Sql, modelName: string): Promise<RuleRow | undefined> {
  return ruleRows.parse(await sql.query('select * from rules where model_name = $1', [modelName]))[0]
}

export function toRule(row: Omit<RuleRow, 'updated_at' | 'last_decision'>): Rule {
  return {
    modelName: row.model_name,
    nodeSelector: row.node_selector,
    routePolicy: row.route_policy,
    minReplicas: row.min_replicas,
    maxReplicas: row.max_replicas,
    spreadAll: row.spread_all,
    scaleToZeroAfterMs: row.scale_to_zero_after_s === null ? null : row.scale_to_zero_after_s * 1000,
    source: row.source,
    unsatisfiableUntilMs: row.unsatisfiable_until,
    unsatisfiableTicks: row.unsatisfiable_ticks,
  }
}

/** A saved rule starts anew: what kept the old one from being met no longer counts. */
export async function saveRule(tx: Sql, rule: RuleSettings): Promise<RuleRow> {
  const rows = await tx.query(
    `insert into rules (model_name, min_replicas, max_replicas, node_selector, route_policy, spread_all,
       scale_to_zero_after_s, source, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, now_ms())
     on conflict (model_name) do update set min_replicas = excluded.min_replicas,
       max_replicas = excluded.max_replicas, node_selector = excluded.node_selector,
       route_policy = excluded.route_policy, spread_all = excluded.spread_all,
       scale_to_zero_after_s = excluded.scale_to_zero_after_s, source = excluded.source,
       unsatisfiable_until = null, unsatisfiable_ticks = 0, last_decision = null,
       updated_at = ${later('rules.updated_at')}
     returning *`,
    [
      rule.modelName,
      rule.minReplicas,
      rule.maxReplicas,
      JSON.stringify(rule.nodeSelector),
      rule.routePolicy,
      rule.spreadAll ? 1 : 0,
      rule.scaleToZeroAfterMs === null ? null : Math.round(rule.scaleToZeroAfterMs / 1000),
      rule.source,
    ],
  )
  return ruleRow.parse(rows[0])
}

/** Changes the source of a rule; its settings stay. */
export async function setRuleSource(tx: Sql, modelName: string, source: Rule['source']): Promise<void> {
  await tx.query(`update rules set source = $1, updated_at = ${later('updated_at')} where model_name = $2`, [
    source,
    modelName,
  ])
}

/** Does nothing when the rule is gone. */
export async function setBreaker(tx: Sql, modelName: string, { untilMs, ticks, decision }: Breaker): Promise<void> {
  await tx.query(
    'update rules set unsatisfiable_until = $1, unsatisfiable_ticks = $2, last_decision = $3 where model_name = $4',
    [untilMs, ticks, decision && JSON.stringify(decision), modelName],
  )
}

/** False when there is no such rule. */
export async function deleteRule(tx: Sql, modelName: string): Promise<boolean> {
  return (await tx.query('delete from rules where model_name = $1 returning model_name', [modelName])).length === 1
}
