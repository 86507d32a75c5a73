import type { ReplicaView } from '../../../../api/admin/schemas.ts'
import { messageOf, AppError } from '../../../../platform/errors.ts'
import type { Sql } from '../../../../store/sql.ts'
import { listModels } from '../../../../store/nouns/models.ts'
import { approveNode, deleteNode, listDecisiveNodes, setDesired, type NodeRow } from '../../../../store/nouns/nodes.ts'
import type { Among } from '../../../../store/query-among.ts'
import { recordRemoval } from '../../../../store/nouns/removed-nodes.ts'
import { listReplicas, listReplicasOfNode, type StoredReplica } from '../../../../store/nouns/replicas.ts'
import { change, type Tell } from '../../../changes/change.ts'
import type { Answers } from '../../answers.ts'
import type { AdminDeps } from '../../deps.ts'
import { neededNode, viewNodes, viewOneNode, replicaViewer } from '../../../views/node-view.ts'

/** How long a removed node may take to confirm; one that did not hear stops by itself later. */
const GOODBYE_MS = 2000

export function nodeAnswers(
  deps: AdminDeps,
): Answers<
  | 'listNodes'
  | 'getNode'
  | 'deleteNode'
  | 'approveNode'
  | 'drainNode'
  | 'resumeNode'
  | 'listNodeModels'
  | 'listReplicas'
> {
  const { db } = deps

  const desire = (id: string, desired: NodeRow['desired']) =>
    change(deps, async (tx, tell) => {
      await writeDesired(tx, tell, await neededNode(tx, id), desired)
      return viewOneNode(tx, id)
    })

  return {
    listNodes: () => viewNodes(db),
    getNode: (_body, { id }) => viewOneNode(db, id),

    async deleteNode(_body, { id }) {
      const node = await change(deps, async (tx, tell) => {
        const found = await neededNode(tx, id)
        const { name, public_key: publicKey } = found
        await deleteNode(tx, id)
        await recordRemoval(tx, found)
        const reason = `${name} was removed from the cluster`
        await tell({
          action: 'node.removed',
          nodeId: id,
          reason,
          data: { name, public_key: publicKey },
        })
        return found
      })
      await tellRemoved(deps, node)
      await deps.onNodeRemoved(id, node.public_key)
      return { deleted: id }
    },

    async approveNode(_body, { id }) {
      const view = await change(deps, async (tx, tell) => {
        const { name } = await neededNode(tx, id)
        if (!(await approveNode(tx, id))) throw new AppError('conflict', `${name} is approved already.`)
        await tell({ action: 'node.approved', nodeId: id, reason: `${name} may take part` })
        return viewOneNode(tx, id)
      })
      await deps.onNodeApproved(view.public_key, id)
      return view
    },

    drainNode: (_body, { id }) => desire(id, 'draining'),
    resumeNode: (_body, { id }) => desire(id, 'active'),

    async listNodeModels(_body, { id }) {
      await neededNode(db, id)
      return viewReplicas(db, await listReplicasOfNode(db, id), [id])
    },
    listReplicas: async () => viewReplicas(db, await listReplicas(db)),
  }
}

async function viewReplicas(sql: Sql, replicas: readonly StoredReplica[], nodeIds?: Among): Promise<ReplicaView[]> {
  const names = new Set(replicas.map(({ modelName }) => modelName))
  return replicas.map(replicaViewer(await listDecisiveNodes(sql, nodeIds), await listModels(sql, names)))
}

export async function writeDesired(tx: Sql, tell: Tell, node: NodeRow, desired: NodeRow['desired']): Promise<void> {
  const { id: nodeId, name } = node
  const [action, reason] =
    desired === 'draining'
      ? ['node.draining', `${name} takes no new requests and replicas`]
      : ['node.resumed', `${name} takes requests and replicas again`]
  if (await setDesired(tx, nodeId, desired)) await tell({ action, nodeId, reason })
}

/** Its rows are gone, so nothing it does counts any more; stopping it soon only spares its machine. */
async function tellRemoved(
  { bus, log, clusterId }: AdminDeps,
  { id, name, approved_at: approvedAt }: NodeRow,
): Promise<void> {
  if (approvedAt === null) return
  const reason = `${name} was removed from the cluster by an admin`
  try {
    await bus.request('nodeShutdown', { reason, cluster_id: clusterId }, { nodeId: id, timeoutMs: GOODBYE_MS })
  } catch (error) {
    log.debug({ node: id, error: messageOf(error) }, 'control: the removed node did not answer')
  }
}
