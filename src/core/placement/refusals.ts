import { formatBytes } from '../lib/bytes.ts'
import type { Claim } from '../types.ts'
import type { Fleet } from './fleet.ts'
import type { Room } from './room.ts'
import { diskNeeded } from './shortage.ts'
import type { Refusal } from './types.ts'

/** Why a claim cannot be held on a node as it is now; undefined when it can. The slot is not part of a claim. */
export function claimRefusal(fleet: Fleet, nodeId: string, claim: Claim): Refusal | undefined {
  const room = fleet.roomOf(nodeId)
  const { id, name } = room?.node ?? { id: nodeId, name: nodeId }
  if (!room) return { nodeId: id, nodeName: name, filter: 'online', needed: 'online', available: 'gone', where: null }
  const short = claimShortage(room, claim)
  return short && { nodeId: id, nodeName: name, ...short }
}

/** For people, without the node's name: "needs 20.0 GiB on gpu 0, where 3.1 GiB are free". */
export function describeRefusal({ filter, needed, available, where }: Refusal): string {
  switch (filter) {
    case 'approved':
      return 'waits for approval'
    case 'backend':
      return `is an ${available}: it runs no replicas`
    case 'active':
    case 'online':
      return `is ${available}`
    case 'selector':
      return `needs the label ${needed}, has ${available}`
    case 'engine':
      return `cannot run ${needed}: ${available}`
    case 'failing':
      return `${available}`
    case 'anti_affinity':
      return `has ${available}, which is kept apart from it`
    case 'slot':
      return `has ${available} ${available === 1 ? 'slot' : 'slots'} for each model, this would be replica ${needed}`
    case 'disk':
      return `needs ${amount(needed)} of disk, ${amount(available)} are free`
    case 'memory':
      return describeMemory({ needed, available, where })
  }
}

type Short = Pick<Refusal, 'filter' | 'needed' | 'available' | 'where'>

function claimShortage(room: Room, claim: Claim): Short | undefined {
  const memory = (where: string, needed: string | number, available: string | number): Short => ({
    filter: 'memory',
    needed,
    available: typeof available === 'number' ? Math.max(0, available) : available,
    where,
  })
  let [vram, ram] = [0, claim.ram]
  for (const { index, bytes } of claim.devices) {
    const position = room.node.devices.findIndex((device) => device.index === index)
    if (position < 0) return memory(`gpu ${index}`, bytes, 'the node has no such device')
    if (room.alone[position]! > 0) return memory(`gpu ${index}`, bytes, 0)
    if (claim.alone && room.holders[position]! > 0)
      return memory(`gpu ${index}`, 'an idle gpu', 'other replicas are on it')
    if (bytes > room.free[position]!) return memory(`gpu ${index}`, bytes, room.free[position]!)
    vram += bytes
    if (room.node.devices[position]!.unified) ram += bytes
  }
  if (vram > room.vram) return memory('vram budget', vram, room.vram)
  if (claim.ram > 0 && room.aloneOnRam > 0)
    return memory('ram', claim.ram, 'kept for another until it has been measured')
  if (claim.alone && claim.devices.length === 0 && room.unsettled > 0) {
    return memory('ram', claim.ram, 'others there have not been measured yet')
  }
  if (ram > 0 && ram > room.ram) return memory('ram', ram, room.ram)
  const disk = diskNeeded(claim.disk)
  if (disk > room.disk) return { filter: 'disk', needed: disk, available: Math.max(0, room.disk), where: null }
  return undefined
}

function describeMemory({ needed, available, where }: Pick<Refusal, 'needed' | 'available' | 'where'>): string {
  const place = placeText(where)
  if (typeof needed === 'string') return `needs ${needed}${where === 'ram' ? ' memory' : ''}; ${available}`
  if (typeof available === 'string') return `needs ${formatBytes(needed)} ${place}: ${available}`
  return `needs ${formatBytes(needed)} ${place}, ${formatBytes(available)} are free`
}

function placeText(where: string | null): string {
  if (where === 'ram' || where === null) return 'of memory'
  return where === 'vram budget' ? 'of its VRAM budget' : `on ${where}`
}

function amount(bytes: string | number): string {
  return typeof bytes === 'number' ? formatBytes(bytes) : bytes
}
