import { isOnTheWay } from '../lifecycle/states.ts'
import type { Node, Replica } from '../types.ts'

/** Starts that one node works on at a time: more would share its disk and network, and all of them come later. */
const MOST_STARTS_PER_NODE = 4
/**
 * In the whole cluster: files come from one frontend or through one uplink, so thousands of starts at once would all be
 * late. A larger cluster works on as many as it has nodes.
 */
const MOST_STARTS = 64

type Start = Pick<Replica, 'nodeId' | 'modelName' | 'state' | 'generation'>

/**
 * The starts to ask workers for now, besides those under way. Models take turns, the one with the fewest under way first,
 * so that none waits behind all the replicas of another; within a model the replicas that were placed first.
 */
export function nextStarts<R extends Start>(
  replicas: readonly R[],
  nodes: readonly Pick<Node, 'id' | 'liveness'>[],
): R[] {
  // Starts on silent nodes do not use up a slot.
  const online = new Set(nodes.filter(({ liveness }) => liveness === 'online').map(({ id }) => id))
  const onNode = new Counts()
  const ofModel = new Counts()
  const reserved: R[] = []
  let underWay = 0
  for (const replica of replicas) {
    if (!isOnTheWay(replica.state) || !online.has(replica.nodeId)) continue
    if (replica.state === 'reserved') reserved.push(replica)
    else {
      onNode.add(replica.nodeId)
      ofModel.add(replica.modelName)
      underWay += 1
    }
  }
  const most = Math.max(MOST_STARTS, online.size) - underWay
  const inTurn = reserved
    .toSorted((a, b) => a.generation - b.generation)
    .map((replica) => ({ replica, turn: ofModel.add(replica.modelName) }))
    .toSorted((a, b) => a.turn - b.turn || a.replica.generation - b.replica.generation)
  const mayStart = inTurn.filter(({ replica }) => onNode.add(replica.nodeId) <= MOST_STARTS_PER_NODE)
  return mayStart.slice(0, Math.max(0, most)).map(({ replica }) => replica)
}

class Counts {
  readonly #counts = new Map<string, number>()

  add(name: string): number {
    const count = (this.#counts.get(name) ?? 0) + 1
    this.#counts.set(name, count)
    return count
  }
}
