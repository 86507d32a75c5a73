import { isEnding } from '../lifecycle/states.ts'
import type { Measured, Model, Node, NodeEngine, Replica } from '../types.ts'

/** What one replica holds on its node. What is pending is held, but not in the node's reading of free memory yet. */
export interface Holding {
  devices: readonly DeviceHolding[]
  ram: number
  pendingRam: number
  /** Of files that are still to come. */
  disk: number
  /** It serves and was measured: nothing more is expected of it. */
  isSettled: boolean
  /** No other replica may join it before it is settled: on its devices, or on the node when it has none. */
  isAlone: boolean
}

export interface DeviceHolding {
  /** Where the device stands in the node's list. */
  position: number
  bytes: number
  pending: number
}

/** A failed replica has no process: it holds its slot and nothing else. */
const NOTHING: Holding = { devices: [], ram: 0, pendingRam: 0, disk: 0, isSettled: true, isAlone: false }

/**
 * A claim holds until a measurement takes its place. That of an engine that takes all its memory as it loads does so once
 * the replica serves; any other may still grow, and holds the larger of both.
 */
export function holdingOf(replica: Replica, node: Node, memory: NodeEngine['memory'] | undefined): Holding {
  if (replica.state === 'failed') return NOTHING
  const { claim, measured } = replica
  const serves = hasServed(replica)
  const isFinal = isMeasurementFinal(replica, memory)
  const devices: DeviceHolding[] = []
  for (let position = 0; position < node.devices.length; position += 1) {
    const { index } = node.devices[position]!
    const claimed = bytesOf(claim?.devices, index)
    const seen = bytesOf(measured?.devices, index)
    if (claimed === undefined && seen === undefined) continue
    const bytes = isFinal && seen !== undefined ? seen : Math.max(claimed ?? 0, seen ?? 0)
    devices.push({ position, bytes, pending: bytes - (seen ?? (serves ? bytes : 0)) })
  }
  const claimedRam = claim?.ram ?? 0
  const ram = isFinal && measured ? measured.ram : Math.max(claimedRam, measured?.ram ?? 0)
  const isSettled = serves && hasLoaded(measured)
  return {
    devices,
    ram,
    pendingRam: ram - (measured?.ram ?? (serves ? ram : 0)),
    disk: isFetching(replica) ? (claim?.disk ?? 0) : 0,
    isSettled,
    isAlone: !isSettled && claim?.alone === true,
  }
}

/** What claims still hold on a node, by the position of its devices: of no claim whose place a measurement has taken. */
export function reservedOn(
  node: Node,
  replicas: readonly Replica[],
  models: readonly Model[],
): { byDevice: number[]; vram: number; ram: number } {
  const byName = new Map(models.map((model) => [model.name, model]))
  const byDevice = node.devices.map(() => 0)
  let ram = 0
  for (const replica of replicas) {
    if (replica.nodeId !== node.id || replica.state === 'failed' || !replica.claim) continue
    const isFinal = isMeasurementFinal(replica, memoryOf(replica, node, byName.get(replica.modelName)))
    for (const [position, { index }] of node.devices.entries()) {
      if (isFinal && bytesOf(replica.measured?.devices, index) !== undefined) continue
      byDevice[position]! += bytesOf(replica.claim.devices, index) ?? 0
    }
    if (!isFinal || !replica.measured) ram += replica.claim.ram
  }
  return { byDevice, vram: byDevice.reduce((sum, bytes) => sum + bytes, 0), ram }
}

/** The measurement has taken the claim's place. */
export function isMeasurementFinal(replica: Replica, memory: NodeEngine['memory'] | undefined): boolean {
  return memory === 'on_load' && hasServed(replica) && hasLoaded(replica.measured)
}

/** A measurement from the loading phase is incomplete. A worker that does not say is taken to have measured later. */
function hasLoaded(measured: Measured | null): boolean {
  return measured !== null && measured.loaded !== false
}

/** An edit may have changed the engine, and the row of an older replica does not say which one it runs. */
export function memoryOf(replica: Replica, node: Node, model: Model | undefined): NodeEngine['memory'] | undefined {
  return model?.revision === replica.revision ? engineOn(node, model.engine)?.memory : undefined
}

/** Not by plain indexing: every object has a `constructor`, and that is no engine. */
export function engineOn(node: Node, engine: string | undefined): NodeEngine | undefined {
  return engine !== undefined && Object.hasOwn(node.engines, engine) ? node.engines[engine] : undefined
}

/** Holds while it is drained or stopped, too; otherwise its claim would count again for its last seconds. */
function hasServed({ state, readySinceMs }: Replica): boolean {
  return state === 'ready' || (isEnding(state) && (state === 'draining' || readySinceMs !== null))
}

function isFetching({ state }: Replica): boolean {
  return state === 'reserved' || state === 'installing' || state === 'staging'
}

function bytesOf(devices: readonly { index: number; bytes: number }[] | null | undefined, index: number) {
  if (!devices) return undefined
  for (const device of devices) if (device.index === index) return device.bytes
  return undefined
}
