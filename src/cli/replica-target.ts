import type { ReplicaView } from '../api/admin/schemas.ts'
import { replicaKey } from '../core/lib/replica-key.ts'

/** A replica, and the node it is or was on. */
export interface PlacedReplica {
  modelName: string
  key: string
  nodeId: string
}

/** What a person means by `model#n` or `model`: one replica by its key, or all replicas of a model. */
export interface ReplicaTarget {
  /** As it was asked for. */
  name: string
  matches: (replica: PlacedReplica) => boolean
}

/** A key comes first: the name of a model may look like the key of another's replica. */
export function findTarget(wanted: string, all: readonly PlacedReplica[]): ReplicaTarget | undefined {
  const byKey: ReplicaTarget = { name: wanted, matches: ({ key }) => key === wanted }
  return [byKey, modelTarget(wanted)].find(({ matches }) => all.some(matches))
}

export function modelTarget(wanted: string): ReplicaTarget {
  return { name: wanted, matches: ({ modelName }) => modelName === wanted }
}

export function placedReplica({
  model_name: modelName,
  replica_index: index,
  node_id: nodeId,
}: ReplicaView): PlacedReplica {
  return { modelName, key: replicaKey(modelName, index), nodeId }
}
