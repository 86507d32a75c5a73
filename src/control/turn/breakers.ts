import { MOST_TOLD_NODES, type RuleDecision } from '../../api/rule-decision.ts'
import { describeRefusal } from '../../core/placement/refusals.ts'
import { moveBreakers, type BreakerMove } from '../../core/reconcile/breaker.ts'
import type { Plan } from '../../core/reconcile/plan.ts'
import type { World } from '../../core/types.ts'
import type { Sql } from '../../store/sql.ts'
import type { NewEvent } from '../../store/nouns/events.ts'
import { setBreaker } from '../../store/nouns/rules.ts'
import { summarise } from '../../core/explain/refusal-summary.ts'

/** When each rule was last counted. Held by the leader: a new one counts on from what the store says. */
export type Ticks = Map<string, number>

export interface Recorded {
  /** Of the rules that were written. */
  modelNames: string[]
  /** What is to be told. */
  news: NewEvent[]
}

/** Writes down which rules have found no room, and why. */
export async function recordBreakers(tx: Sql, world: World, plan: Plan, ticks: Ticks): Promise<Recorded> {
  const moves = moveBreakers(world.rules, plan, world.nowMs, ticks)
  const news: NewEvent[] = []
  for (const move of moves) {
    const { modelName, untilMs, ticks: count } = move
    const decision = decisionOf(move, plan, world.nowMs)
    await setBreaker(tx, modelName, { untilMs, ticks: count, decision })
    if (count === 0) ticks.delete(modelName)
    else ticks.set(modelName, world.nowMs)
    if (move.news) news.push(toEvent(move, decision))
  }
  return { modelNames: moves.map(({ modelName }) => modelName), news }
}

function decisionOf({ modelName, ticks }: BreakerMove, plan: Plan, nowMs: number): RuleDecision | null {
  const unmet = plan.unmet.find((one) => one.modelName === modelName)
  if (ticks === 0 || !unmet) return null
  const { missing, refusals, advice } = unmet
  return {
    at: nowMs,
    missing,
    reason: summarise(refusals, advice),
    refusals: refusals
      .slice(0, MOST_TOLD_NODES)
      .map((refusal) => ({ node_name: refusal.nodeName, text: describeRefusal(refusal) })),
    more: Math.max(0, refusals.length - MOST_TOLD_NODES),
  }
}

function toEvent({ modelName, untilMs, news }: BreakerMove, decision: RuleDecision | null): NewEvent {
  const about = { actor: 'control', action: `rule.${news}`, modelName }
  if (news === 'satisfiable') return { ...about, reason: `the rule of ${modelName} can be met again` }
  const reason = `the rule of ${modelName} cannot be met: ${decision?.reason ?? 'no reason is known'}`
  return { ...about, reason, data: { missing: decision?.missing ?? 0, until: untilMs } }
}
