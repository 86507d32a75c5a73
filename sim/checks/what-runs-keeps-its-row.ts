import type { Cluster } from '../cluster.ts'
import type { Check } from './check.ts'

/**
 * The row of a replica that serves is not deleted while its process runs and its node is there, in the same boot: a
 * worker that registers again, or asks for its credentials, has lost nothing. (A node that is given up is another
 * check's.)
 */
export function whatRunsKeepsItsRow(cluster: Cluster): Check {
  const { store } = cluster
  return {
    name: 'kept (what runs keeps its row)',
    onCommit({ moved, nodes }) {
      for (const { before, after } of moved) {
        if (after || before.state !== 'ready') continue
        const node = store.mirror.nodes.get(before.nodeId)
        const change = nodes.find((one) => one.after?.id === before.nodeId)
        const isNewBoot = change !== undefined && change.before?.bootId !== change.after?.bootId
        if (!node || node.liveness === 'offline' || isNewBoot) continue
        const machine = cluster.machineOfNode(before.nodeId)
        const engine = [...(machine?.engines.values() ?? [])].find(({ spec }) => spec.id === before.id)
        if (!engine || engine.state !== 'ready' || engine.isToldToEnd) continue
        return `${before.id} (${before.modelName}#${before.index}) runs on ${node.name}, and its row is deleted`
      }
      return undefined
    },
  }
}
