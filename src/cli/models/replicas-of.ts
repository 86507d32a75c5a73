import type { NodeView } from '../../api/admin/schemas.ts'
import { replicaKey } from '../../core/lib/replica-key.ts'
import type { Client } from '../client.ts'
import { plain } from '../terminal/text-width.ts'

/** The replicas of a model on some nodes, in words: `qwen#0 on gpu-1`. */
export async function replicasOf({ api }: Client, model: string, nodes: readonly NodeView[]): Promise<string[]> {
  const replicas = await api.call('listReplicas')
  return nodes.flatMap(({ id, name }) =>
    replicas
      .filter((replica) => replica.node_id === id && replica.model_name === model)
      .map((replica) => plain(`${replicaKey(model, replica.replica_index)} on ${name}`)),
  )
}
