import { routePolicies } from '../types.ts'

/** What LocalAI's rules have for its prefix cache and ours have not. */
const THEIRS = ['balance_abs_threshold', 'balance_rel_threshold', 'min_prefix_match'] as const

/**
 * Translates a rule that LocalAI wrote into our terms, and lists what it left out. A rule of ours stays as it is. A value
 * that is no rule at all passes through: the schema refuses it later.
 */
export function fromLocalAiRule(value: unknown): { rule: unknown; leftOut: string[] } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { rule: value, leftOut: [] }
  const rule: Record<string, unknown> = { ...value }
  const leftOut: string[] = []
  for (const field of THEIRS) {
    if (!Object.hasOwn(rule, field)) continue
    if (rule[field] !== 0 && rule[field] !== null) leftOut.push(field)
    delete rule[field]
  }
  const policies: readonly unknown[] = routePolicies
  if (rule['route_policy'] === 'prefix_cache' && !policies.includes('prefix_cache')) {
    leftOut.push('route_policy prefix_cache (least_loaded is used)')
    delete rule['route_policy']
  }
  return { rule, leftOut }
}
