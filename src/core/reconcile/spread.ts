import { isMeant } from '../nodes/availability.ts'
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
    if (isMeant(rule.nodeSelector, node) && !byNode.has(node.id)) spread.missingOn.push(node.id)
  }
  // The same nodes in another order are the same nodes.
  spread.missingOn.sort()
  return spread
}

/** How many replicas a rule asks for at least, as the nodes are now. */
export function wantedReplicas({ spreadAll, minReplicas, nodeSelector }: Wanting, nodes: readonly Node[]): number {
  return spreadAll ? nodes.filter((node) => isMeant(nodeSelector, node)).length : minReplicas
}

type Wanting = Pick<Rule, 'spreadAll' | 'minReplicas' | 'nodeSelector'>

function serves({ state }: Replica): number {
  return state === 'ready' ? 1 : 0
}
