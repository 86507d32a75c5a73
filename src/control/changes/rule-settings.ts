import type { RuleInput } from '../../api/admin/rule-schemas.ts'
import { printSelector } from '../../core/nodes/selector-text.ts'
import type { RuleSettings } from '../../store/nouns/rules.ts'

/** A rule as it was asked for, over the API or in the configuration. */
export function toSettings(input: RuleInput, source: RuleSettings['source']): RuleSettings {
  return {
    modelName: input.model_name,
    nodeSelector: input.node_selector,
    routePolicy: input.route_policy,
    minReplicas: input.min_replicas,
    maxReplicas: input.max_replicas,
    spreadAll: input.spread_all,
    scaleToZeroAfterMs: input.scale_to_zero_after_s === null ? null : input.scale_to_zero_after_s * 1000,
    source,
  }
}

/** In a sentence, for events. */
export function describeSettings(rule: RuleSettings): string {
  const { modelName, minReplicas, maxReplicas, scaleToZeroAfterMs: idleMs } = rule
  const where = printSelector(rule.nodeSelector)
  if (rule.spreadAll) return `one replica of ${modelName} on every node${where && ` with ${where}`}`
  const end = idleMs === null ? '' : `, none after ${idleMs / 1000} s without a request`
  return `${minReplicas} to ${maxReplicas || 'any number of'} replicas of ${modelName}${where && ` on nodes with ${where}`}${end}`
}
