import { mismatchOf } from '../placement/selector.ts'
import type { Node, Replica, Rule } from '../types.ts'

/** What a rule that wants one replica on every matching node finds. */
export interface Spread {
  /** Nodes that should have one and do not. */
  missingOn: string[]
  /** Second ones on a node; the lowest index stays. */
  surplus: Replica[]
}

/** Node by node, not by number: two on one node do not make up for none on another. */
export function spreadOver(rule: Rule, nodes: Iterable<Node>, keep: readonly Replica[]): Spread {
  const byNode = Map.groupBy(keep, ({ nodeId }) => nodeId)
  const spread: Spread = { missingOn: [], surplus: [] }
  for (const replicas of byNode.values()) {
    spread.surplus.push(
      ...replicas.toSorted((a, b) => serves(b) - serves(a) || a.replicaIndex - b.replicaIndex).slice(1),
    )
  }
  for (const node of nodes) {
    if (isMeant(rule, node) && !byNode.has(node.id)) spread.missingOn.push(node.id)
  }
  // The same nodes in another order are the same nodes.
  spread.missingOn.sort()
  return spread
}

/** One that only missed some heartbeats is meant as well, and will have to wait. */
function isMeant({ nodeSelector }: Rule, node: Node): boolean {
  const { approved, nodeType, desired, liveness, labels } = node
  if (!approved || nodeType !== 'backend' || desired !== 'active' || liveness === 'offline') return false
  return mismatchOf(nodeSelector, labels) === undefined
}

function serves({ state }: Replica): number {
  return state === 'ready' ? 1 : 0
}
