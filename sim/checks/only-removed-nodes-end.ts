import type { Cluster } from '../cluster.ts'
import type { Check } from './check.ts'

/** A worker ends what runs for the word that its node was removed, and that word is only true of nodes that were. */
export function onlyRemovedNodesEnd({ store }: Cluster): Check {
  return {
    name: 'removed (only removed nodes end)',
    onToldToEnd({ name, nodeId, worker }, { spec }) {
      if (worker?.departure?.why !== 'removed' || nodeId === undefined) return undefined
      if (store.read('select id from removed_nodes where id = $1', [nodeId]).length > 0) return undefined
      return `${name} ends ${spec.id} (${spec.model_name}#${spec.replica_index}) as a removed node, and was never removed`
    },
  }
}
