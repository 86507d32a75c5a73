import type { RuleInput } from '../../api/admin/rule-schemas.ts'
import type { Sql } from '../../store/sql.ts'
import { newestEventOf } from '../../store/nouns/events.ts'
import { findRule, type RuleRow } from '../../store/nouns/rules.ts'
import type { Tell } from '../changes/change.ts'
import { removeRule, writeRule } from './nouns/rules.ts'

/**
 * The rule that is made together with a model, by `replicas` in the call that adds it. It goes with the model. A rule that
 * was written by itself stays: it may have taken thought, and a document may list it. Which it is stands in the event of
 * its last change (decision 0063).
 */

/** Keeps so many running. What else a rule of the model says stays, but not a cap that is in the way. */
export async function keepRunning(tx: Sql, tell: Tell, name: string, replicas: number): Promise<void> {
  const rule = await findRule(tx, name)
  if (rule && rule.min_replicas === replicas && !rule.spread_all) return
  const isCompanion = rule === undefined || (await wasMadeWithModel(tx, rule))
  await writeRule(tx, tell, ruleKeeping(name, replicas, rule), isCompanion ? { with: 'model' } : {})
}

/** What became of it; null when there is none. */
export async function removeCompanion(tx: Sql, tell: Tell, name: string): Promise<'removed' | 'kept' | null> {
  const rule = await findRule(tx, name)
  if (!rule) return null
  if (!(await wasMadeWithModel(tx, rule))) return 'kept'
  await removeRule(tx, tell, name)
  return 'removed'
}

async function wasMadeWithModel(sql: Sql, rule: RuleRow): Promise<boolean> {
  if (rule.source === 'config') return false
  const event = await newestEventOf(sql, ['rule.saved'], rule.model_name)
  // Events are kept for a while only. Then a rule that says nothing but how many is taken for one.
  if (!event) return isPlain(rule)
  return (event.data as { with?: unknown } | null)?.with === 'model'
}

function isPlain(rule: RuleRow): boolean {
  const isUsual = rule.route_policy === 'least_loaded' && rule.max_replicas === 0 && rule.scale_to_zero_after_s === null
  return isUsual && !rule.spread_all && Object.keys(rule.node_selector).length === 0
}

function ruleKeeping(name: string, replicas: number, rule: RuleRow | undefined): RuleInput {
  const cap = rule?.max_replicas ?? 0
  return {
    model_name: name,
    min_replicas: replicas,
    max_replicas: cap === 0 ? 0 : Math.max(cap, replicas),
    spread_all: false,
    // Replicas that are kept without any request, and none without one, contradict each other.
    scale_to_zero_after_s: replicas === 0 ? (rule?.scale_to_zero_after_s ?? null) : null,
    node_selector: rule?.node_selector ?? {},
    route_policy: rule?.route_policy ?? 'least_loaded',
  }
}
