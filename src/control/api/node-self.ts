import { sayGoodbye } from '../../store/nodes.ts'
import { deleteReplicasOfNode } from '../../store/replicas.ts'
import { change } from '../change.ts'
import { registeredAs } from '../node-credentials.ts'
import { registerNode } from '../register-node.ts'
import type { Answers } from './answers.ts'
import type { AdminDeps } from './deps.ts'
import { neededNode } from './node-view.ts'

/** What a node does for itself. */
export function nodeSelfAnswers(deps: AdminDeps): Answers<'registerNode' | 'nodeCredentials' | 'deregisterNode'> {
  return {
    registerNode: (body, _params, caller) => registerNode(deps, body, caller),
    nodeCredentials: async (_body, { id }, { request }) => registeredAs(deps, await neededNode(deps.db, id), request),
    deregisterNode: (_body, { id }) =>
      change(deps, async (tx, tell) => {
        const { name } = await neededNode(tx, id)
        if (!(await sayGoodbye(tx, id))) return {}
        const dropped = await deleteReplicasOfNode(tx, id)
        const reason = `${name} said goodbye`
        const data = { replicas_dropped: dropped }
        await tell({ actor: `node ${name}`, action: 'node.deregistered', nodeId: id, reason, data })
        return {}
      }),
  }
}
