import type { Cluster } from '../cluster.ts'
import type { Check } from './check.ts'

/** The one statement that approves, which only an admin's call sends. */
const APPROVES = 'update nodes set approved_at = now_ms() where id = $1'

/** Invariant 8: a pending node gets no work and no credentials, and cannot approve itself by any sequence of calls. */
export function pendingNodesGetNothing({ store }: Cluster): Check {
  const { mirror } = store
  return {
    name: 'pending (invariant 8)',
    onCommit({ inserted, nodes, statements }) {
      for (const { before, after } of nodes) {
        if (!after?.approved || before?.approved) continue
        if (!statements.some(({ text }) => text.startsWith(APPROVES)))
          return `${after.name} is approved, and nobody has`
      }
      for (const { modelName, nodeId } of inserted) {
        const node = mirror.nodes.get(nodeId)
        if (!node?.approved) return `${modelName} was placed on ${node?.name ?? nodeId}, which is not approved`
      }
      return undefined
    },
    onAllowed(nodeId) {
      const node = mirror.nodes.get(nodeId)
      return node && !node.approved ? `${node.name} is let onto the bus and is not approved` : undefined
    },
  }
}
