import { isStaying } from '../lifecycle/states.ts'
import type { Model, Node, World } from '../types.ts'
import { evictables } from './eviction.ts'
import { Fleet } from './fleet.ts'
import { Judge } from './judge.ts'
import { needOf } from './need-of.ts'

/**
 * Whether waiting may help a model that no node can take now: a node may come back, a replica, a download or another
 * program may end. It does not help when every node lacks what only a person changes: a label, an engine, approval, slots,
 * or memory beside the replicas that rules keep there. A cluster without nodes is one that is being set up.
 */
export function mayFitLater(world: World, model: Model): boolean {
  if (world.nodes.length === 0) return true
  const regrets = evictables(world)
  const revisions = new Map(world.models.map(({ name, revision }) => [name, revision]))
  const staying = world.replicas.filter(
    ({ id, state, modelName, revision }) =>
      !regrets.has(id) && revision === revisions.get(modelName) && isStaying(state),
  )
  const fleet = new Fleet(world.nodes.map(atItsBest), staying, world.models)
  const judge = new Judge({ ...needOf(world, model), failing: new Map() }, fleet, 'spread')
  return fleet.rooms.some((room) => judge.seatIn(room) !== undefined)
}

/** With all that passes by itself passed: it is back, and nothing but replicas takes memory or disk of it. */
function atItsBest(node: Node): Node {
  return {
    ...node,
    liveness: 'online',
    desired: 'active',
    availableRam: null,
    availableDisk: null,
    devices: node.devices.map((device) => ({ ...device, availableVram: null })),
  }
}
