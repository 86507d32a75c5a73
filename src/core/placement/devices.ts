import type { DeviceBytes, EngineUses, Node } from '../types.ts'
import type { Room } from './room.ts'
import type { MemoryNeed } from '../memory/types.ts'
import type { PlacePolicy } from './types.ts'

/** How a replica fits on a node. Cheap to make, since most nodes that could take it do not get it. */
export interface Fit {
  /** Over how many devices it is split; 0 is without one. */
  count: number
  /** What is left on the fullest of them; of the machine's memory when nothing of a device is taken. */
  left: number
}

/** What one replica asks of one node. */
export interface Ask {
  memory: MemoryNeed
  isOnGpu: boolean
  /** For the machine's memory of a replica whose need is unknown. */
  payloadBytes: number | null
}

/** Files are mapped or read whole, and something comes on top; the least is what any engine takes. */
const UNKNOWN_RAM = { perPayload: 1.2, leastBytes: 256 * 2 ** 20 }

/** A need that is known and has nothing for a device goes without one, unless its engine cannot. */
export function takesDevice(memory: MemoryNeed, uses: EngineUses): boolean {
  return memory.deviceCount > 0 && (takesVram(memory) || uses.device === 'gpu')
}

/** Whether it takes something of the devices that it is given: an engine may want one and take nothing of its memory. */
export function takesVram({ vram, share, source }: MemoryNeed): boolean {
  return vram > 0 || share !== null || source === 'unknown'
}

/** Undefined when the room does not do. */
export function fitInto(room: Room, ask: Ask, policy: PlacePolicy): Fit | undefined {
  const fit = fitOnDevices(room, ask, policy)
  if (!fit || fit.count === 0 || takesVram(ask.memory)) return fit
  return { count: fit.count, left: room.ram - ramOf(ask) }
}

function fitOnDevices(room: Room, ask: Ask, policy: PlacePolicy): Fit | undefined {
  const { memory, isOnGpu } = ask
  const ram = ramOf(ask)
  if (ram > 0 && (room.aloneOnRam > 0 || ram > room.ram)) return undefined
  if (!isOnGpu) {
    const mustWait = memory.source === 'unknown' && room.unsettled > 0
    return mustWait ? undefined : { count: 0, left: room.ram - ram }
  }
  const least = leastDevices(memory)
  const most = isExact(memory) ? least : room.free.length
  if (least === 1) {
    const position = bestOne(room, memory, policy)
    if (position >= 0) return { count: 1, left: room.free[position]! - chargeOn(room, memory, position, 1)! }
  }
  if (!isExact(memory) && !room.hasUnified) return fitInEqualParts(room, memory, policy)
  for (let count = Math.max(2, least); count <= most; count += 1) {
    const parts = bestTogether(room, memory, count, policy)
    if (parts) return { count, left: Math.min(...parts.map(({ left }) => left)) }
  }
  return undefined
}

/** Over several devices, without putting them together for each number of them: the roomiest ones tell. */
function fitInEqualParts(room: Room, memory: MemoryNeed, policy: PlacePolicy): Fit | undefined {
  const { free } = room
  const order = byFree(room)
  for (let count = Math.max(2, leastDevices(memory)); count <= free.length; count += 1) {
    const part = Math.ceil(memory.vram / count)
    if (part > free[order[count - 1]!]! || part * count > room.vram) continue
    const able = policy === 'pack' ? order.filter((position) => part <= free[position]!) : order.slice(0, count)
    return { count, left: free[able.at(-1)!]! - part }
  }
  return undefined
}

/** Positions, the roomiest device first. Sorted by hand: there may be ten thousand nodes with a few devices each. */
export function byFree({ free }: Room): number[] {
  const order: number[] = []
  for (let position = 0; position < free.length; position += 1) {
    let at = position
    for (; at > 0 && free[order[at - 1]!]! < free[position]!; at -= 1) order[at] = order[at - 1]!
    order[at] = position
  }
  return order
}

/** The devices of a fit, in the order of the node's list. */
export function devicesOf(room: Room, { memory }: Ask, { count }: Fit, policy: PlacePolicy): DeviceBytes[] {
  const position = count === 1 ? bestOne(room, memory, policy) : -1
  const one = { position, bytes: count === 1 ? chargeOn(room, memory, position, 1)! : 0 }
  const parts = count < 2 ? [one].slice(0, count) : bestTogether(room, memory, count, policy)!
  return parts.map(({ position, bytes }) => ({ index: room.node.devices[position]!.index, bytes }))
}

/** Of the machine's memory. An unknown need without a device goes by the size of the files. */
export function ramOf({ memory, isOnGpu, payloadBytes }: Ask): number {
  if (memory.source !== 'unknown' || isOnGpu) return memory.ram
  return Math.max(memory.ram, Math.ceil((payloadBytes ?? 0) * UNKNOWN_RAM.perPayload), UNKNOWN_RAM.leastBytes)
}

export function leastDevices(memory: MemoryNeed): number {
  return Math.max(1, memory.deviceCount)
}

/** What takes a share of each device was told how many it gets; an unknown one takes no more cards than it must. */
export function isExact({ share, source }: MemoryNeed): boolean {
  return share !== null || source === 'unknown'
}

/** The position of the one device that the policy likes best; -1 when none does. This is where the time goes. */
function bestOne(room: Room, memory: MemoryNeed, policy: PlacePolicy): number {
  const { free } = room
  const isSpread = policy === 'spread' || memory.source === 'unknown'
  let best = -1
  let [bestLeft, bestFree] = [0, 0]
  for (let position = 0; position < free.length; position += 1) {
    const bytes = chargeOn(room, memory, position, 1)
    if (bytes === undefined || bytes > room.vram) continue
    if (room.hasUnified && isUnified(room, position) && memory.ram + bytes > room.ram) continue
    const left = free[position]! - bytes
    // An unknown need leaves nothing on any device; the larger device gives it the better chance.
    const isBetter = isSpread ? left > bestLeft || (left === bestLeft && free[position]! > bestFree) : left < bestLeft
    if (best >= 0 && !isBetter) continue
    best = position
    bestLeft = left
    bestFree = free[position]!
  }
  return best
}

interface Part {
  position: number
  bytes: number
  left: number
}

/** Several devices, in equal parts as engines split a model. Among those that do: by the policy. */
function bestTogether(room: Room, memory: MemoryNeed, count: number, policy: PlacePolicy): Part[] | undefined {
  let able = 0
  for (let position = 0; position < room.free.length; position += 1) {
    if (chargeOn(room, memory, position, count) !== undefined) able += 1
  }
  if (able < count) return undefined
  const parts: Part[] = []
  for (let position = 0; position < room.free.length; position += 1) {
    const bytes = chargeOn(room, memory, position, count)
    if (bytes !== undefined) parts.push({ position, bytes, left: room.free[position]! - bytes })
  }
  const isSpread = policy === 'spread' || memory.source === 'unknown'
  const byPolicy = parts.toSorted((a, b) => (isSpread ? b.left - a.left : a.left - b.left) || a.position - b.position)
  // Shares of unequal devices differ: where the policy's choice is too much together, the smallest may do.
  const bySize = (): Part[] => parts.toSorted((a, b) => a.bytes - b.bytes || a.position - b.position)
  return firstOf(room, memory, count, byPolicy) ?? firstOf(room, memory, count, bySize())
}

/** The first in this order that fit together: into the budget, and into the memory that some share with the machine. */
function firstOf(room: Room, memory: MemoryNeed, count: number, parts: readonly Part[]): Part[] | undefined {
  const chosen: Part[] = []
  let ram = memory.ram
  let vram = 0
  for (const part of parts) {
    const shares = room.hasUnified && isUnified(room, part.position)
    if (chosen.length === count || (shares && ram + part.bytes > room.ram)) continue
    if (shares) ram += part.bytes
    vram += part.bytes
    chosen.push(part)
  }
  if (chosen.length < count || vram > room.vram) return undefined
  return chosen.toSorted((a, b) => a.position - b.position)
}

/** What it takes of this device as one of `count`; undefined when that is not free. */
function chargeOn(room: Room, memory: MemoryNeed, position: number, count: number): number | undefined {
  const free = room.free[position]!
  if (memory.source === 'unknown') {
    if (room.holders[position]! > 0) return undefined
    const shared = isUnified(room, position) ? room.ram - memory.ram : Infinity
    const bytes = Math.min(free, Math.floor(room.vram / count), Math.floor(shared / count))
    return bytes > 0 ? bytes : undefined
  }
  const bytes = partOf(room.node, memory, position, count)
  if (bytes > free) return undefined
  // A device with a replica that must be alone takes no other, even one that needs nothing.
  return bytes === 0 && room.alone[position]! > 0 ? undefined : bytes
}

/** What it takes of a device as one of `count`, whether that is free or not. */
export function partOf(node: Node, memory: MemoryNeed, position: number, count: number): number {
  if (memory.share !== null) return Math.ceil(memory.share * node.devices[position]!.totalVram)
  return Math.ceil(memory.vram / count)
}

function isUnified({ node }: Room, position: number): boolean {
  return node.devices[position]!.unified
}
