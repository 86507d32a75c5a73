import { isEnding } from '../../src/core/lifecycle/states.ts'
import type { ReplicaState } from '../../src/core/types.ts'
import type { Cluster } from '../cluster.ts'
import type { Check } from './check.ts'

/** A rule that wants one replica on every node never gets a second one on any, also not while others have none. */
export function spreadIsOneEach({ store }: Cluster): Check {
  const { mirror } = store
  return {
    name: 'spread (one on each node)',
    onCommit({ inserted }) {
      for (const { id, nodeId, modelName, revision } of inserted) {
        const beside = mirror
          .replicasOf(nodeId)
          .find(
            (row) => row.id !== id && row.modelName === modelName && row.revision === revision && isMeant(row.state),
          )
        if (!beside) continue
        const rules = store.read('select 1 as one from rules where model_name = $1 and spread_all = 1', [modelName])
        if (rules.length === 0) continue
        const node = mirror.nodes.get(nodeId)?.name ?? nodeId
        return `${modelName} is to be on each node once, and ${id} was placed on ${node} beside ${beside.id}`
      }
      return undefined
    },
  }
}

function isMeant(state: string): boolean {
  return state !== 'failed' && !isEnding(state as ReplicaState)
}
