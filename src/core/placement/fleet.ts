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
  readonly kinds = new Kinds()
  readonly #rooms: Room[]
  readonly #byId = new Map<string, Room>()
  readonly #models = new Map<string, Model>()
  readonly #byModel = new Map<string, Set<Room>>()
  #changed = new Set<string>()
  #version = 0

  constructor(nodes: readonly Node[], replicas: readonly Replica[], models: readonly Model[]) {
    for (const model of models) this.#models.set(model.name, model)
    this.#rooms = nodes.toSorted(byName).map((node) => new Room(node))
    for (const room of this.#rooms) this.#byId.set(room.node.id, room)
    for (const replica of replicas) this.#put(replica)
  }

  /** By name, so that the same nodes give the same answer in whichever order they came. */
  get rooms(): readonly Room[] {
    return this.#rooms
  }

  /** Grows with every change: what was found before may no longer be so. */
  get version(): number {
    return this.#version
  }

  /** The nodes where something was added or taken away since this was last asked, or since it was made. */
  takeChanged(): Set<string> {
    const changed = this.#changed
    this.#changed = new Set()
    return changed
  }

  /** The model as it is now. Its replicas hold what they held until their nodes are set as well. */
  setModel(name: string, model: Model | undefined): void {
    if (model) this.#models.set(name, model)
    else this.#models.delete(name)
  }

  /** A node as it is now, with all its replicas, in place of what was known of it; undefined when it is gone. */
  setNode(id: string, node: Node | undefined, replicas: readonly Replica[]): void {
    const old = this.#byId.get(id)
    if (old) for (const { replica } of old.held) this.#byModel.get(replica.modelName)?.delete(old)
    const at = old ? this.#positionOf(old.node) : -1
    const isInPlace = old !== undefined && node?.name === old.node.name
    if (old && !isInPlace) this.#rooms.splice(at, 1)
    this.#byId.delete(id)
    if (!node) return
    const room = new Room(node)
    if (isInPlace) this.#rooms[at] = room
    else this.#rooms.splice(this.#positionOf(node), 0, room)
    this.#byId.set(id, room)
    for (const replica of replicas) this.#put(replica)
    this.#version += 1
  }

  /** Where it stands, or would: there may be ten thousand of them. */
  #positionOf(node: Node): number {
    let low = 0
    let high = this.#rooms.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (byName(this.#rooms[middle]!.node, node) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  /** One on a node that is not there changes nothing. */
  add(replica: Replica): void {
    this.#put(replica)
    this.#note(replica)
  }

  #put(replica: Replica): void {
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
    const room = this.#byId.get(replica.nodeId)
    if (!room) return
    this.#note(replica)
    room.remove(replica)
    const { modelName } = replica
    if (!room.held.some((one) => one.replica.modelName === modelName)) this.#byModel.get(modelName)?.delete(room)
  }

  #note({ nodeId }: Replica): void {
    this.#changed.add(nodeId)
    this.#version += 1
  }

  /** Where there are replicas of a model. */
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
  return a.id === b.id ? 0 : a.id < b.id ? -1 : 1
}
