import { replicaKey } from '../lib/replica-key.ts'
import { byFree, isExact, leastDevices, partOf, ramOf, type Ask } from './devices.ts'
import type { Room } from './room.ts'
import type { MemoryNeed } from '../memory/types.ts'
import type { Refusal } from './types.ts'

type Shortage = Pick<Refusal, 'needed' | 'available' | 'where'>

/** On the disk beyond the files themselves: the worker insists on the same. */
const DISK_RESERVE = { share: 0.05, bytes: 2 ** 30 }

export function diskNeeded(payloadBytes: number): number {
  return payloadBytes === 0
    ? 0
    : payloadBytes + Math.max(Math.ceil(DISK_RESERVE.share * payloadBytes), DISK_RESERVE.bytes)
}

/** What is short in a room that a replica did not fit into: where least is missing. */
export function shortageOf(room: Room, ask: Ask): Shortage {
  const { memory } = ask
  const ram = ramOf(ask)
  if (!ask.isOnGpu && memory.source === 'unknown' && room.unsettled > 0) {
    return { where: 'ram', needed: 'an unknown amount', available: 'others there have not been measured yet' }
  }
  if (ram > 0 && room.aloneOnRam > 0) return { where: 'ram', needed: ram, available: keptFor(room) }
  if (ram > room.ram) return { where: 'ram', needed: ram, available: Math.max(0, room.ram) }
  return shortageOnDevices(room, ask)
}

function keptFor({ held }: Room): string {
  const { replica } = held.find(({ holding }) => holding.isAlone && holding.devices.length === 0)!
  return `kept for ${replicaKey(replica.modelName, replica.replicaIndex)} until it has been measured`
}

function shortageOnDevices(room: Room, { memory }: Ask): Shortage {
  const least = leastDevices(memory)
  const { length } = room.node.devices
  if (length < least) return { where: gpus(least), needed: gpus(least), available: gpus(length) }
  if (memory.source === 'unknown') {
    const [needed, available] = least === 1 ? ['an idle gpu', 'none is'] : [`${least} idle gpus`, 'not so many are']
    return { where: gpus(least), needed, available }
  }
  const order = byFree(room)
  let best = missingOn(room, memory, least, order)
  for (let count = least + 1; count <= (isExact(memory) ? least : length); count += 1) {
    const missing = missingOn(room, memory, count, order)
    if (missing.isPossible === best.isPossible ? missing.short < best.short : missing.isPossible) best = missing
  }
  const { count, needed, short } = best
  if (needed > room.vram && needed - room.vram >= short) {
    return { where: 'vram budget', needed, available: Math.max(0, room.vram) }
  }
  // Every device has enough of its own: it is the machine's memory that they share.
  if (short === 0) return { where: 'ram', needed: needed + memory.ram, available: Math.max(0, room.ram) }
  const where = count === 1 ? gpu(room.node.devices[order[0]!]!.index) : gpus(count)
  return { where, needed, available: needed - short }
}

interface Missing {
  count: number
  needed: number
  short: number
  /** On empty devices it would do. */
  isPossible: boolean
}

function missingOn({ node, free }: Room, memory: MemoryNeed, count: number, order: readonly number[]): Missing {
  const missing: Missing = { count, needed: 0, short: 0, isPossible: true }
  for (let i = 0; i < count; i += 1) {
    const position = order[i]!
    const part = partOf(node, memory, position, count)
    missing.needed += part
    missing.short += Math.max(0, part - Math.max(0, free[position]!))
    if (part > node.devices[position]!.totalVram) missing.isPossible = false
  }
  return missing
}

/** Made once: there may be ten thousand nodes that say the same. */
const names = new Map<number, string>()

function gpu(index: number): string {
  const known = names.get(index)
  if (known !== undefined) return known
  const name = `gpu ${index}`
  names.set(index, name)
  return name
}

function gpus(count: number): string {
  return count === 1 ? '1 gpu' : `${count} gpus`
}
