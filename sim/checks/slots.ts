import type { Cluster } from '../cluster.ts'
import { versionOf, type Check } from './check.ts'

/** Invariant 1: never more replicas of a model on a node than its slots, never two with one index; rows and processes. */
export function slotsCheck(): Check {
  let seen = -1
  return {
    name: 'slots (invariant 1)',
    look(cluster) {
      const { planProblems } = cluster.ground.happened
      if (planProblems.length > 0) return `the planner's plan: ${planProblems.join('; ')}`
      const version = versionOf(cluster)
      if (version === seen) return undefined
      seen = version
      return overfullRows(cluster) ?? overfullProcesses(cluster)
    },
  }
}

function overfullRows({ ground }: Cluster): string | undefined {
  const slots = [...ground.store.replicas.values()].map(({ nodeId, modelName, replicaIndex }) => ({
    nodeId,
    modelName,
    replicaIndex,
  }))
  return overfull('rows', slots, (nodeId) => ground.store.nodes.mostSlots(nodeId))
}

function overfullProcesses({ machines, ground }: Cluster): string | undefined {
  const slots = machines.flatMap(({ id: nodeId, engines }) =>
    [...engines].map(({ spec }) => ({ nodeId, modelName: spec.model_name, replicaIndex: spec.replica_index })),
  )
  return overfull('processes', slots, (nodeId) => ground.store.nodes.mostSlots(nodeId))
}

function overfull(
  what: string,
  taken: { nodeId: string; modelName: string; replicaIndex: number }[],
  slotsOf: (nodeId: string) => number,
): string | undefined {
  const once = new Set<string>()
  for (const { nodeId, modelName, replicaIndex } of taken) {
    const key = `${modelName}#${replicaIndex} on ${nodeId}`
    if (once.has(key)) return `two ${what} of ${key}`
    once.add(key)
    // Distinct indexes below the number of slots are never more than the slots.
    if (replicaIndex >= slotsOf(nodeId)) return `${what} of ${key}, which has ${slotsOf(nodeId)} slots`
  }
  return undefined
}
