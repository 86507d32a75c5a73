import { memoryOn } from '../memory/need.ts'
import type { Device, Node, Replica } from '../types.ts'
import type { Need } from '../memory/types.ts'

/**
 * The same question as `place`, answered by trying everything from the definitions: every set of devices, every sum anew.
 * `gone` are taken as gone with all that they held; where some are named, if only an empty list, the memory has been read
 * since, and what has gone before is free as well.
 */
export function fitsByForce(need: Need, node: Node, replicas: readonly Replica[], gone?: readonly Replica[]): boolean {
  const { model } = need
  const here = replicas.filter((replica) => replica.nodeId === node.id)
  const left = here.filter((replica) => !gone?.includes(replica))
  const freed = gone ? node.freed : []
  if (!node.approved || node.desired !== 'active' || node.liveness !== 'online') return false
  const siblings = new Set(left.filter((one) => one.modelName === model.name).map((one) => one.replicaIndex))
  const indexes = Array.from({ length: node.maxReplicasPerModel }, (_, index) => index)
  if (indexes.every((index) => siblings.has(index))) return false
  const running = left.filter((one) => one.modelName === model.name && one.state !== 'failed')
  if (running.length >= node.maxReplicasPerModel) return false

  const { vram, ram, deviceCount, source } = memoryOn(node, need)
  const isAlone = source === 'unknown'
  const live = left.filter(({ state }) => state !== 'failed')
  const isUnsettled = (one: Replica): boolean => !['ready', 'draining'].includes(one.state) || one.measured === null
  const unified = node.devices.filter((device) => device.unified)
  const freedRam = freed.reduce((bytes, one) => bytes + one.ram, 0) + sum(unified.map((one) => freedOn(freed, one)))
  const freeRam = freeOf(
    node.totalRam,
    node.availableRam === null ? null : node.availableRam + freedRam,
    here,
    left,
    (one) => ramHeld(one, node),
    headroomOf(node),
  )
  const isRamKept = live.some((one) => one.claim?.alone && one.claim.devices.length === 0 && isUnsettled(one))
  if (deviceCount === 0 || (vram === 0 && !isAlone)) {
    const bytes = isAlone ? 256 * 2 ** 20 : ram
    if (isAlone && live.some(isUnsettled)) return false
    return bytes === 0 || (!isRamKept && bytes <= freeRam)
  }
  if (ram > 0 && (isRamKept || ram > freeRam)) return false
  const total = left.flatMap((one) => node.devices.map((device) => held(one, device))).reduce((a, b) => a + b, 0)
  const budget = (node.vramBudget ?? Infinity) - total
  return subsetsOf(node.devices).some((devices) => {
    if (devices.length < Math.max(1, deviceCount)) return false
    const frees = devices.map((device) =>
      freeOf(
        device.totalVram,
        device.availableVram === null ? null : device.availableVram + freedOn(freed, device),
        here,
        left,
        (one) => [held(one, device), pending(one, device)],
        0,
      ),
    )
    const touches = (one: Replica, device: Device): boolean =>
      [...(one.claim?.devices ?? []), ...(one.measured?.devices ?? [])].some(({ index }) => index === device.index)
    const shared = devices.filter((device) => device.unified).length
    if (isAlone) {
      const isIdle = devices.every((device) => !live.some((one) => touches(one, device)))
      const hasSome = Math.min(...frees) >= 1 && budget >= devices.length && (shared === 0 || freeRam >= devices.length)
      return devices.length === deviceCount && isIdle && hasSome
    }
    const part = Math.ceil(vram / devices.length)
    const isKept = devices.some((device) =>
      live.some((one) => one.claim?.alone && touches(one, device) && isUnsettled(one)),
    )
    if (isKept || frees.some((free) => free < part) || part * devices.length > budget) return false
    return shared === 0 || ram + part * shared <= freeRam
  })
}

function freedOn(freed: Node['freed'], { index }: Device): number {
  return sum(freed.flatMap(({ devices }) => devices.filter((one) => one.index === index).map(({ bytes }) => bytes)))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0)
}

type Held = [bytes: number, pending: number]

/** By what the hardware has and by what was read; what the gone held is added to the reading. */
function freeOf(
  total: number | null,
  reading: number | null,
  here: readonly Replica[],
  left: readonly Replica[],
  heldBy: (replica: Replica) => Held,
  headroom: number,
): number {
  const byTotal = (total ?? Infinity) - left.reduce((sum, one) => sum + heldBy(one)[0], 0)
  const gone = here.filter((one) => !left.includes(one))
  const seenOfGone = gone.reduce((sum, one) => sum + heldBy(one)[0] - heldBy(one)[1], 0)
  const byReading = (reading ?? Infinity) + seenOfGone - left.reduce((sum, one) => sum + heldBy(one)[1], 0)
  return Math.min(byTotal, byReading) - headroom
}

/** Every engine here takes its memory as it loads. */
function held({ state, claim, measured }: Replica, { index }: Device): number {
  if (state === 'failed') return 0
  const claimed = claim?.devices.find((one) => one.index === index)?.bytes ?? 0
  const seen = measured?.devices?.find((one) => one.index === index)?.bytes
  return state === 'ready' || state === 'draining' ? (seen ?? claimed) : Math.max(claimed, seen ?? 0)
}

function pending(replica: Replica, device: Device): number {
  if (replica.state === 'failed') return 0
  const seen = replica.measured?.devices?.find((one) => one.index === device.index)?.bytes
  const serves = replica.state === 'ready' || replica.state === 'draining'
  return held(replica, device) - (seen ?? (serves ? held(replica, device) : 0))
}

/** With what it holds of devices that share the machine's memory. */
function ramHeld(replica: Replica, node: Node): Held {
  const { state, claim, measured } = replica
  if (state === 'failed') return [0, 0]
  const serves = state === 'ready' || state === 'draining'
  const ram = serves && measured ? measured.ram : Math.max(claim?.ram ?? 0, measured?.ram ?? 0)
  const resident = measured?.ram ?? (serves ? ram : 0)
  const unified = node.devices.filter((device) => device.unified)
  const onDevices = unified.reduce((sum, device) => sum + held(replica, device), 0)
  const pendingOnDevices = unified.reduce((sum, device) => sum + pending(replica, device), 0)
  return [ram + onDevices, ram - resident + pendingOnDevices]
}

function headroomOf({ totalRam }: Node): number {
  return Math.max(256 * 2 ** 20, Math.ceil(0.02 * (totalRam ?? 0)))
}

export function subsetsOf<T>(items: readonly T[]): T[][] {
  const [first, ...rest] = items
  if (first === undefined) return [[]]
  return subsetsOf(rest).flatMap((set) => [set, [first, ...set]])
}
