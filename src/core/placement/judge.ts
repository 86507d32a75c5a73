import { isStaying } from '../lifecycle/states.ts'
import { memoryOn } from '../memory/need.ts'
import type { Claim, Model, NodeEngine, Replica } from '../types.ts'
import { devicesOf, fitInto, isExact, ramOf, takesDevice, takesVram, type Ask, type Fit } from './devices.ts'
import type { Fleet } from './fleet.ts'
import { engineOn } from './holding.ts'
import type { Room } from './room.ts'
import { mismatchOf } from '../nodes/selector.ts'
import { diskNeeded, shortageOf } from './shortage.ts'
import type { Need } from '../memory/types.ts'
import type { PlacePolicy, Refusal, RefusalFilter } from './types.ts'

export const NO_GPU = 'the node has no GPU'

/** A place on a node that a replica could take. */
export interface Seat {
  room: Room
  replicaIndex: number
  fit: Fit
  /** It takes something of a device. An engine that takes nothing there runs as well on a machine without one. */
  takesVram: boolean
  /** Of the same model, and in all, that stay there. */
  siblings: number
  neighbours: number
  bytesToMove: number
}

type Verdict = Seat | Refusal

export function isRefusal(verdict: Verdict): verdict is Refusal {
  return 'filter' in verdict
}

/** Judges nodes for one need. What depends on the kind of node alone is worked out once for each kind. */
export class Judge {
  readonly need: Need
  readonly #fleet: Fleet
  readonly #policy: PlacePolicy
  readonly #hasSelector: boolean
  /** By the kind of node. */
  readonly #asks: Ask[] = []
  readonly #roomsOfModel: ReadonlySet<Room>

  constructor(need: Need, fleet: Fleet, policy: PlacePolicy) {
    this.need = need
    this.#fleet = fleet
    this.#policy = policy
    this.#hasSelector = Object.keys(need.selector).length > 0
    this.#roomsOfModel = fleet.roomsOf(need.model.name)
  }

  /** Undefined when it refuses. */
  seatIn(room: Room, ignored?: RefusalFilter): Seat | undefined {
    const verdict = this.judge(room, ignored)
    return isRefusal(verdict) ? undefined : verdict
  }

  /** A seat, or the first filter that refuses. `ignored` is passed over, to see what would be if it were mended. */
  judge(room: Room, ignored?: RefusalFilter): Verdict {
    const { node } = room
    const { model, selector, failing } = this.need
    if (!node.approved && ignored !== 'approved') return refuse(room, 'approved', 'approved', 'pending')
    if (node.nodeType !== 'backend') return refuse(room, 'backend', 'backend', node.nodeType)
    if (node.desired !== 'active' && ignored !== 'active') return refuse(room, 'active', 'active', node.desired)
    if (node.liveness !== 'online' && ignored !== 'online') return refuse(room, 'online', 'online', node.liveness)
    const mismatch = this.#hasSelector && ignored !== 'selector' ? mismatchOf(selector, node.labels) : undefined
    if (mismatch) return refuse(room, 'selector', mismatch.needed, mismatch.available)
    const engine = engineOn(node, model.engine)
    if (!engine) return refuse(room, 'engine', model.engine, 'the node has no such engine')
    if (engine.whyNot !== null && ignored !== 'engine') return refuse(room, 'engine', model.engine, engine.whyNot)
    const ask = this.#askOf(room, engine)
    if (ask.isOnGpu && node.devices.length === 0) return refuse(room, 'engine', model.engine, NO_GPU)
    const wait = failing?.get(node.id)
    if (wait !== undefined) return refuse(room, 'failing', 'a start that succeeds', wait)
    const foe = model.antiAffinity === null ? undefined : this.#foeOn(room, model, model.antiAffinity)
    if (foe) return refuse(room, 'anti_affinity', `no other of ${model.antiAffinity}`, foe.modelName)
    return this.#takeSlot(room, ask, ignored)
  }

  /**
   * Whether a node may have a better seat than this one, by figures that are at hand: when many nodes are alike, most need
   * not be judged. Only for spreading; says yes when in doubt.
   */
  mayBeat(room: Room, best: Seat): boolean {
    if (best.siblings > 0 || !best.takesVram || this.#roomsOfModel.has(room)) return true
    if (room.staying !== best.neighbours) return room.staying < best.neighbours
    const engine = engineOn(room.node, this.need.model.engine)
    if (best.fit.count > 1 || !engine) return true
    const { memory } = this.#askOf(room, engine)
    const charge = isExact(memory) ? 0 : memory.vram
    return room.mostFree - charge > known(best.fit.left)
  }

  /** The claim of a seat. */
  claimOf({ room, fit, bytesToMove }: Seat): Claim {
    const ask = this.#askOf(room, engineOn(room.node, this.need.model.engine)!)
    const { source } = ask.memory
    const devices = devicesOf(room, ask, fit, this.#policy)
    return { devices, ram: ramOf(ask), disk: bytesToMove, source, alone: source === 'unknown' }
  }

  #askOf(room: Room, engine: NodeEngine): Ask {
    const kind = this.#fleet.kinds.numberOf(room, this.need.model.engine, engine)
    const known = this.#asks[kind]
    if (known) return known
    const memory = memoryOn(room.node, this.need)
    const payloadBytes = this.need.facts?.payloadBytes ?? null
    return (this.#asks[kind] = { memory, isOnGpu: takesDevice(memory, engine.uses), payloadBytes })
  }

  #takeSlot(room: Room, ask: Ask, ignored: RefusalFilter | undefined): Verdict {
    const { name } = this.need.model
    const isThere = this.#roomsOfModel.has(room.now)
    const replicaIndex = isThere ? lowestFreeIndex(room, name) : 0
    // A free index is not enough: where the slots were lowered, those with a higher one run on.
    const taken = isThere ? Math.max(replicaIndex, countRunning(room, name)) : 0
    const slots = room.node.maxReplicasPerModel
    if (taken >= slots && ignored !== 'slot') return refuse(room, 'slot', taken + 1, slots)
    const bytesToMove = isThere && hasFiles(room.now, name) ? 0 : (ask.payloadBytes ?? 0)
    const disk = diskNeeded(bytesToMove)
    if (disk > room.disk && ignored !== 'disk') return refuse(room, 'disk', disk, Math.max(0, room.disk))
    const fit = fitInto(room, ask, this.#policy)
    if (!fit) {
      const { needed, available, where } = shortageOf(room, ask)
      return refuse(room, 'memory', needed, available, where)
    }
    const siblings = isThere ? countStaying(room, name) : 0
    const onDevices = fit.count > 0 && takesVram(ask.memory)
    return { room, replicaIndex, fit, takesVram: onDevices, siblings, neighbours: room.staying, bytesToMove }
  }

  /** Anti-affinity does not apply between replicas of one model: slots limit those. */
  #foeOn(room: Room, { name }: Model, group: string): Replica | undefined {
    const isFoe = (replica: Replica): boolean =>
      replica.modelName !== name && replica.state !== 'failed' && this.#fleet.modelOf(replica)?.antiAffinity === group
    return room.held.find(({ replica }) => isFoe(replica))?.replica
  }
}

/** The better seat first. Every rule that is equal leaves it to the next, the last to the order of the rooms. */
export function compareSeats(a: Seat, b: Seat, policy: PlacePolicy): number {
  if (policy === 'pack') {
    return (
      byDevices(a, b) ||
      compare(wastesGpu(a), wastesGpu(b)) ||
      compare(a.fit.left, b.fit.left) ||
      compare(a.bytesToMove, b.bytesToMove)
    )
  }
  return (
    compare(isWithout(a), isWithout(b)) ||
    compare(a.siblings, b.siblings) ||
    compare(a.neighbours, b.neighbours) ||
    byDevices(a, b) ||
    compare(wastesGpu(a), wastesGpu(b)) ||
    compare(known(b.fit.left), known(a.fit.left)) ||
    compare(a.bytesToMove, b.bytesToMove)
  )
}

/** An engine that runs on either is many times slower without a GPU, and an idle machine does not make up for that. */
function isWithout({ takesVram: onDevices }: Seat): number {
  return onDevices ? 0 : 1
}

/** A machine with GPUs is left to the models that take VRAM, where another machine does as well. */
function wastesGpu({ room, takesVram: onDevices }: Seat): number {
  return !onDevices && room.node.devices.length > 0 ? 1 : 0
}

/** A model in one piece is faster than one that is split, and leaves whole devices to others. */
function byDevices(a: Seat, b: Seat): number {
  return compare(a.takesVram ? a.fit.count : Infinity, b.takesVram ? b.fit.count : Infinity)
}

/** A node that does not say how much it has is the last to be called roomy. */
function known(left: number): number {
  return left === Infinity ? 0 : left
}

/** Not by difference: both may be Infinity. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1
}

function refuse(
  { node }: Room,
  filter: RefusalFilter,
  needed: string | number,
  available: string | number,
  where: string | null = null,
): Refusal {
  return { nodeId: node.id, nodeName: node.name, filter, needed, available, where }
}

function lowestFreeIndex(room: Room, modelName: string): number {
  let index = 0
  while (isTaken(room, modelName, index)) index += 1
  return index
}

function isTaken({ held }: Room, modelName: string, index: number): boolean {
  for (const { replica } of held) {
    if (replica.replicaIndex === index && replica.modelName === modelName) return true
  }
  return false
}

/** Of another replica of the model: on disk, or on their way and claimed by it. */
function hasFiles({ held }: Room, modelName: string): boolean {
  for (const { replica } of held) if (replica.modelName === modelName && replica.state !== 'failed') return true
  return false
}

/** A failed replica has no process; an ending one still has. */
function countRunning({ held }: Room, modelName: string): number {
  let count = 0
  for (const { replica } of held) if (replica.modelName === modelName && replica.state !== 'failed') count += 1
  return count
}

function countStaying({ held }: Room, modelName: string): number {
  let count = 0
  for (const { replica } of held) {
    if (replica.modelName === modelName && isStaying(replica.state)) count += 1
  }
  return count
}
