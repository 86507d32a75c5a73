import type { Cluster } from '../cluster.ts'
import type { Check } from './check.ts'

/**
 * Invariant 1: never more replicas of a model on a node than its slots, never two with one index. What has failed runs no
 * more: its row is there for its wait, also when the slots have become fewer since.
 */
export function neverMoreThanSlots({ store }: Cluster): Check {
  const { mirror } = store
  return {
    name: 'slots (invariant 1)',
    onCommit({ inserted }) {
      for (const { id, nodeId, modelName, index } of inserted) {
        const node = mirror.nodes.get(nodeId)
        if (!node) return `${id} of ${modelName} was placed on ${nodeId}, which is no node`
        const rows = mirror.replicasOf(nodeId).filter((row) => row.modelName === modelName && row.state !== 'failed')
        if (rows.length > node.slots) {
          return `${node.name} has ${rows.length} replicas of ${modelName} and ${node.slots} slots`
        }
        if (rows.some((row) => row.id !== id && row.index === index)) {
          return `${node.name} has two replicas ${modelName}#${index}`
        }
        if (index >= node.slots) return `${modelName}#${index} on ${node.name}, which has ${node.slots} slots`
      }
      return undefined
    },
  }
}
