import { Fleet } from '../../core/placement/fleet.ts'
import { claimRefusal } from '../../core/placement/refusals.ts'
import type { Refusal } from '../../core/placement/types.ts'
import type { Sql } from '../sql.ts'
import { listModels } from './models.ts'
import { listDecisiveNodes } from './nodes.ts'
import { insertReplica, listReplicasOfNode, type NewReplica } from './replicas.ts'

export type Reservation = { ok: true } | { ok: false; why: 'slot taken' | 'node gone' | Refusal }

/**
 * Takes a slot and its memory for a replica, if both are still free. To be called in a serializable transaction: of two
 * that want the last of either, one commits and the other sees that.
 */
export async function reserveReplica(tx: Sql, replica: NewReplica): Promise<Reservation> {
  const [node] = await listDecisiveNodes(tx, [replica.nodeId])
  if (!node || replica.replicaIndex >= node.maxReplicasPerModel) return { ok: false, why: 'node gone' }
  const there = await listReplicasOfNode(tx, replica.nodeId)
  const running = there.filter(({ modelName, state }) => modelName === replica.modelName && state !== 'failed')
  if (running.length >= node.maxReplicasPerModel) return { ok: false, why: 'slot taken' }
  const models = await listModels(tx, new Set(there.map(({ modelName }) => modelName)))
  const fleet = new Fleet([node], there, models)
  const refusal = replica.claim && claimRefusal(fleet, node.id, replica.claim)
  if (refusal) return { ok: false, why: refusal }
  return (await insertReplica(tx, replica)) ? { ok: true } : { ok: false, why: 'slot taken' }
}
