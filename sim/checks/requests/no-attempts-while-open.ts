import type { Cluster } from '../../cluster.ts'
import type { Check } from '../check.ts'

/**
 * Invariant 7: a rule that cannot be met makes no load attempts while its breaker is open. Whatever makes room closes it in
 * the same commit that places something there.
 */
export function noAttemptsWhileOpen({ store, queue }: Cluster): Check {
  return {
    name: 'breaker (invariant 7)',
    onCommit({ inserted }) {
      for (const { modelName, nodeId, index } of inserted) {
        const [rule] = store.read<{ until: number | null }>(
          'select unsatisfiable_until as until from rules where model_name = $1',
          [modelName],
        )
        if (!rule?.until || rule.until <= queue.nowMs) continue
        const node = store.mirror.nodes.get(nodeId)?.name ?? nodeId
        const forMs = rule.until - queue.nowMs
        return `${modelName}#${index} was placed on ${node}, and the breaker of its rule is open for ${forMs} ms more`
      }
      return undefined
    },
  }
}
