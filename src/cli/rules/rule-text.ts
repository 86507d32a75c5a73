import type { RuleView } from '../../api/admin/rule-schemas.ts'
import { printSelector } from '../../core/nodes/selector-text.ts'
import type { View } from '../client.ts'
import { counted, span } from '../terminal/format.ts'
import type { Look } from '../terminal/style.ts'

export const stateLooks: Record<RuleView['state'], Look> = {
  met: 'green',
  starting: 'yellow',
  unmet: 'red',
  cooling: 'red',
}

/** `2-4`, `2+`, `up to 4`, `every node`: for a narrow column. */
export function shortCount({ spread_all: spread, min_replicas: min, max_replicas: max }: RuleView): string {
  if (spread) return 'every node'
  if (max === 0) return `${min}+`
  return min === max ? String(min) : `${min}-${max}`
}

/** The same as a sentence. */
export function countText(rule: RuleView): string {
  const { spread_all: spread, min_replicas: min, max_replicas: max, scale_to_zero_after_s: idleS } = rule
  if (spread) return 'one replica on every node that matches'
  const cap = max === 0 ? 'no cap' : `at most ${max}`
  const end = idleS === null ? '' : `, none after ${spanS(idleS)} without a request`
  return `at least ${counted(min, 'replica')}, ${cap}${end}`
}

export function selectorText({ node_selector: selector }: Pick<RuleView, 'node_selector'>): string {
  return printSelector(selector) || 'any'
}

/** When a rule that could not be met is tried again; nothing when it does not wait. */
export function waitText({ state, unsatisfiable_until: until }: RuleView, { nowMs }: Pick<View, 'nowMs'>): string {
  return state === 'cooling' && until !== null ? `next try in ${span(until - nowMs)}` : ''
}

/** Exact, unlike a span of time that has passed: `90s`, `30m`, `36h`. */
function spanS(seconds: number): string {
  const step = STEPS.find(({ s }) => seconds % s === 0)!
  return `${seconds / step.s}${step.unit}`
}

const STEPS = [
  { unit: 'd', s: 86_400 },
  { unit: 'h', s: 3600 },
  { unit: 'm', s: 60 },
  { unit: 's', s: 1 },
] as const
