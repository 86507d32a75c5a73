import { isOnTheWay } from '../core/lifecycle/states.ts'
import type { Replica } from '../core/types.ts'

/** Starts that one node works on at a time: more would share its disk and network, and all of them come later. */
const MOST_STARTS_PER_NODE = 4

/** Those that were placed first, as many as each node may work on besides what it works on already. */
export function nextStarts<R extends Pick<Replica, 'nodeId' | 'state' | 'generation'>>(replicas: readonly R[]): R[] {
  const underWay = new Map<string, number>()
  const count = (nodeId: string): number => underWay.get(nodeId) ?? 0
  for (const { nodeId, state } of replicas) {
    if (state !== 'reserved' && isOnTheWay(state)) underWay.set(nodeId, count(nodeId) + 1)
  }
  const reserved = replicas.filter(({ state }) => state === 'reserved').toSorted((a, b) => a.generation - b.generation)
  return reserved.filter(({ nodeId }) => {
    underWay.set(nodeId, count(nodeId) + 1)
    return count(nodeId) <= MOST_STARTS_PER_NODE
  })
}
