import { runOf } from '../../../../api/node-run.ts'
import { findNodeIdentity, sayGoodbye } from '../../../../store/nouns/nodes.ts'
import { deleteReplicasOfNode } from '../../../../store/nouns/replicas.ts'
import { absentNode } from '../../../joining/absent-node.ts'
import { change } from '../../../changes/change.ts'
import { otherRun } from '../../../joining/node-runs.ts'
import { registeredAs } from '../../../joining/node-credentials.ts'
import { registerNode } from '../../../joining/register-node.ts'
import type { Answers } from '../../answers.ts'
import type { AdminDeps } from '../../deps.ts'
import { neededNode } from '../../../views/node-view.ts'

/** What a node does for itself. */
export function nodeSelfAnswers(deps: AdminDeps): Answers<'registerNode' | 'nodeCredentials' | 'deregisterNode'> {
  return {
    registerNode: (body, _params, caller) => registerNode(deps, body, caller),
    async nodeCredentials(_body, { id }, { request }) {
      const node = await findNodeIdentity(deps.db, id)
      if (!node) throw await absentNode(deps.db, id, deps.clusterId)
      const run = runOf(request)
      if (run !== null && node.run_id !== null && node.run_id !== run) throw otherRun(node)
      return registeredAs(deps, node, request)
    },
    deregisterNode: (goodbye, { id }, { request }) =>
      change(deps, async (tx, tell) => {
        const { name } = await neededNode(tx, id)
        if (!(await sayGoodbye(tx, id, { bootId: goodbye?.boot_id, runId: runOf(request) }))) return {}
        const dropped = await deleteReplicasOfNode(tx, id)
        const reason = `${name} said goodbye`
        const data = { replicas_dropped: dropped }
        await tell({ actor: `node ${name}`, action: 'node.deregistered', nodeId: id, reason, data })
        return {}
      }),
  }
}
