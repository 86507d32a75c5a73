import { deviceKindOf } from '../memory/need.ts'
import type { LearnedMemory, Model, Node, NodeEngine, Replica } from '../types.ts'

/** Figures wobble by this much from start to start; less is no news. */
const NEWS = 1.02

/**
 * What a replica teaches about the memory that its model takes; undefined when that is nothing new. `isNew`: it became ready
 * with this very heartbeat. What its worker measured then was measured while it loaded, unless the worker says otherwise.
 */
export function learnMemory(
  replica: Replica,
  node: Node,
  model: Model,
  known: readonly LearnedMemory[],
  isNew: boolean,
): LearnedMemory | undefined {
  const engine = Object.hasOwn(node.engines, model.engine) ? node.engines[model.engine] : undefined
  if (replica.revision !== model.revision || !engine || engine.uses.share) return undefined
  const seen = replica.state === 'failed' ? ofFailure(replica, node) : ofSuccess(replica, engine, isNew)
  if (!seen) return undefined
  const key = {
    modelName: model.name,
    revision: model.revision,
    engineVersion: engine.version,
    deviceKind: deviceKindOf(node, (replica.claim?.devices.length ?? 0) > 0),
  }
  const before = known.find(
    (one) =>
      one.modelName === key.modelName &&
      one.revision === key.revision &&
      one.engineVersion === key.engineVersion &&
      one.deviceKind === key.deviceKind,
  )
  if (before?.learnedFrom !== seen.learnedFrom) return { ...key, ...seen }
  if (seen.vram <= before.vram * NEWS && seen.ram <= before.ram * NEWS) return undefined
  return { ...key, ...seen, vram: Math.max(seen.vram, before.vram), ram: Math.max(seen.ram, before.ram) }
}

type Seen = Pick<LearnedMemory, 'vram' | 'ram' | 'learnedFrom'>

function ofSuccess({ state, claim, measured }: Replica, { memory }: NodeEngine, isNew: boolean): Seen | undefined {
  // Of an engine that takes memory as requests come, the figure says how it was used.
  if (state !== 'ready' || !measured || memory !== 'on_load') return undefined
  if (!(measured.loaded ?? !isNew)) return undefined
  // What runs on a device and cannot be told apart there has not been measured.
  if (measured.devices === null && (claim?.devices.length ?? 0) > 0) return undefined
  return { vram: sum(measured.devices ?? []), ram: measured.ram, learnedFrom: 'measured' }
}

/** It wanted more than it was given; alone on a machine it had all that was free. */
function ofFailure({ outOfMemory, claim }: Replica, { availableRam }: Node): Seen | undefined {
  if (!outOfMemory || !claim) return undefined
  const isAloneOnRam = claim.alone && claim.devices.length === 0
  const ram = isAloneOnRam ? Math.max(claim.ram, availableRam ?? 0) : claim.ram
  return { vram: sum(claim.devices), ram, learnedFrom: 'out of memory' }
}

function sum(devices: readonly { bytes: number }[]): number {
  return devices.reduce((total, { bytes }) => total + bytes, 0)
}
