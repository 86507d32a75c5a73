import { replicaStates, type Model, type Node, type Replica } from '../types.ts'
import { holdingOf, memoryOf } from './holding.ts'
import { Kinds } from './kinds.ts'
import { Room } from './room.ts'

const NO_ROOMS: ReadonlySet<Room> = new Set()

/**
 * The nodes with what is free on each, kept up as replicas are added and taken away, so that a placement only reads. It
 * knows every replica, the failed and the ending ones as well, and needs the models for how their engines take memory.
 */
export class Fleet {
  /** By name, so that the same nodes give the same answer in whichever order they came. */
  readonly rooms: readonly Room[]
  readonly kinds = new Kinds()
  readonly #byId = new Map<string, Room>()
  readonly #models = new Map<string, Model>()
  readonly #byModel = new Map<string, Set<Room>>()

  constructor(nodes: readonly Node[], replicas: readonly Replica[], models: readonly Model[]) {
    for (const model of models) this.#models.set(model.name, model)
    this.rooms = nodes.toSorted(byName).map((node) => new Room(node))
    for (const room of this.rooms) this.#byId.set(room.node.id, room)
    for (const replica of replicas) this.add(replica)
  }

  /** One on a node that is not there changes nothing. */
  add(replica: Replica): void {
    const room = this.#byId.get(replica.nodeId)
    if (!room) return
    const memory = memoryOf(replica, room.node, this.#models.get(replica.modelName))
    room.add({ replica, holding: holdingOf(replica, room.node, memory) })
    const rooms = this.#byModel.get(replica.modelName)
    if (rooms) rooms.add(room)
    else this.#byModel.set(replica.modelName, new Set([room]))
  }

  /** By its slot: it may have been added in another state. */
  remove(replica: Replica): void {
    this.#byId.get(replica.nodeId)?.remove(replica)
  }

  /** Where there may be replicas of a model: elsewhere there are none. */
  roomsOf(modelName: string): ReadonlySet<Room> {
    return this.#byModel.get(modelName) ?? NO_ROOMS
  }

  /** In the order of their slots. */
  replicasOn(nodeId: string): Replica[] {
    return (this.#byId.get(nodeId)?.held ?? []).map(({ replica }) => replica).toSorted(bySlot)
  }

  roomOf(nodeId: string): Room | undefined {
    return this.#byId.get(nodeId)
  }

  modelOf(replica: Replica): Model | undefined {
    return this.#models.get(replica.modelName)
  }
}

export function bySlot(a: Replica, b: Replica): number {
  if (a.modelName !== b.modelName) return a.modelName < b.modelName ? -1 : 1
  return a.replicaIndex - b.replicaIndex || replicaStates.indexOf(a.state) - replicaStates.indexOf(b.state)
}

function byName(a: Node, b: Node): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1
  return a.id < b.id ? -1 : 1
}
