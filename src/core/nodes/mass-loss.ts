import type { Node } from '../types.ts'

/** Nodes that fall silent within this time of each other fell together. */
const TOGETHER_MS = 60_000
/** One lost node is a lost node, however small the cluster. */
const LEAST = 2

/**
 * The nodes of a mass disappearance: more than half of the approved backend nodes are gone and went within a minute of
 * each other. That is a broken network or bus far more often than that many broken machines, and replacing all their
 * replicas on the few that are left would break those too. Empty when there is none, or when an admin has said, after
 * they had gone, that they are not to be waited for.
 */
export function massLoss(nodes: readonly Node[], acceptedMs: number | null = null): Node[] {
  const members = nodes.filter((node) => node.approved && node.nodeType === 'backend' && !node.saidGoodbye)
  const gone = members
    .filter((node) => node.liveness === 'offline' && node.isHeard && node.livenessSinceMs > (acceptedMs ?? -Infinity))
    .toSorted((a, b) => a.livenessSinceMs - b.livenessSinceMs)
  let most: Node[] = []
  for (const [i, first] of gone.entries()) {
    const together = gone.slice(i).filter((node) => node.livenessSinceMs - first.livenessSinceMs <= TOGETHER_MS)
    if (together.length > most.length) most = together
  }
  return most.length >= LEAST && most.length > members.length / 2 ? most : []
}
