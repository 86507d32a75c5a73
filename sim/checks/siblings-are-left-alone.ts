import { isEnding } from '../../src/core/lifecycle/states.ts'
import type { ReplicaState } from '../../src/core/types.ts'
import type { Cluster } from '../cluster.ts'
import type { Check } from './check.ts'

/** Invariant 6: nothing is stopped but what is meant. An engine whose row wants it is told to end by nobody. */
export function siblingsAreLeftAlone(cluster: Cluster): Check {
  const { store } = cluster
  return {
    name: 'siblings (invariant 6)',
    onToldToEnd(machine, { spec }) {
      const { name, worker } = machine
      if (!worker?.supervisor || worker.isLeaving || worker.departure) return undefined
      // The row is of what runs on the other machine with this key.
      if (cluster.hasLostPlace(machine)) return undefined
      const row = store.mirror.replicas.get(spec.id)
      if (!row || row.generation !== spec.generation) return undefined
      if (isEnding(row.state as ReplicaState) || row.state === 'failed') return undefined
      // It has failed by its worker's own judgement, and the row is about to learn of it.
      if (worker.supervisor.find(spec.id)?.state === 'failed') return undefined
      return `${spec.model_name}#${spec.replica_index} on ${name} is told to end, and its row ${spec.id} is ${row.state}`
    },
  }
}
