import { replicaKey } from '../lib/replica-key.ts'
import { deviceKindOf, memoryOn } from '../memory/need.ts'
import type { Replica, World } from '../types.ts'
import { evictables } from './eviction.ts'
import { bySlot, Fleet } from './fleet.ts'
import { engineOn, type Holding } from './holding.ts'
import { needOf } from './need-of.ts'
import { place } from './place.ts'
import { describeRefusal } from './refusals.ts'
import type { MemoryNeed, Need } from '../memory/types.ts'
import type { PlacePolicy, Refusal } from './types.ts'

/** Why a model runs where it runs, and not elsewhere. */
export interface Explanation {
  modelName: string
  revision: string
  wanted: { min: number; max: number } | null
  wantedSinceMs: number | null
  memory: (Pick<MemoryNeed, 'source' | 'vram' | 'ram' | 'share' | 'parts'> & { deviceKind: string })[]
  nodes: { nodeId: string; nodeName: string; replicas: ExplainedReplica[]; refusal: ExplainedRefusal | null }[]
  /** Where the next replica would go; `victims` by their keys. */
  next: { nodeName: string; devices: number[]; victims: string[] } | null
  advice: string[]
}

interface ExplainedReplica {
  key: string
  state: Replica['state']
  isCurrent: boolean
  inFlight: number
  /** Held on its devices and of the machine's memory together: its claim, or its measurement once that stands for it. */
  claimed: number
  measured: number | null
  error: string | null
}

export type ExplainedRefusal = Pick<Refusal, 'filter' | 'needed' | 'available' | 'where'> & { text: string }

/** Judges one more replica of the model, as if it were wanted now. Undefined when there is no such model. */
export function explainModel(world: World, modelName: string, policy: PlacePolicy): Explanation | undefined {
  const model = world.models.find(({ name }) => name === modelName)
  if (!model) return undefined
  const fleet = new Fleet(world.nodes, world.replicas, world.models)
  const need = needOf(world, model)
  const placement = place(need, fleet, { policy, evictable: evictables(world) })
  const refusals = new Map(placement.refusals.map((refusal) => [refusal.nodeId, refusal]))
  const rule = world.rules.find((one) => one.modelName === modelName)
  const demand = world.demands.find((one) => one.modelName === modelName && one.wantedUntilMs > world.nowMs)
  return {
    modelName,
    revision: model.revision,
    wanted: rule ? { min: rule.minReplicas, max: rule.maxReplicas } : null,
    wantedSinceMs: demand?.sinceMs ?? null,
    memory: memoryByKind(fleet, need),
    nodes: fleet.rooms.map(({ node: { id, name } }) => ({
      nodeId: id,
      nodeName: name,
      replicas: replicasOf(fleet, id, need),
      refusal: refusals.has(id) ? explainRefusal(refusals.get(id)!) : null,
    })),
    next: placement.ok
      ? {
          nodeName: placement.nodeName,
          devices: placement.claim.devices.map(({ index }) => index),
          victims: placement.victims.toSorted(bySlot).map(keyOf),
        }
      : null,
    advice: placement.ok ? [] : placement.advice.map(({ text }) => text),
  }
}

function memoryByKind({ rooms }: Fleet, need: Need): Explanation['memory'] {
  const byKind = new Map<string, Explanation['memory'][number]>()
  for (const { node } of rooms) {
    const engine = engineOn(node, need.model.engine)
    if (!engine || node.nodeType !== 'backend') continue
    const { source, vram, ram, share, parts, deviceCount } = memoryOn(node, need)
    const deviceKind = deviceKindOf(node, deviceCount > 0)
    if (!byKind.has(deviceKind)) byKind.set(deviceKind, { deviceKind, source, vram, ram, share, parts })
  }
  return [...byKind.values()].toSorted((a, b) => (a.deviceKind < b.deviceKind ? -1 : 1))
}

function replicasOf(fleet: Fleet, nodeId: string, { model }: Need): ExplainedReplica[] {
  const held = new Map((fleet.roomOf(nodeId)?.held ?? []).map(({ replica, holding }) => [replica, holding]))
  const mine = fleet.replicasOn(nodeId).filter(({ modelName }) => modelName === model.name)
  return mine.map((replica) => ({
    key: keyOf(replica),
    state: replica.state,
    isCurrent: replica.revision === model.revision,
    inFlight: replica.inFlight,
    claimed: replica.state === 'failed' ? claimedBytes(replica) : heldBytes(held.get(replica)!),
    measured: measuredBytes(replica),
    error: replica.error,
  }))
}

function heldBytes({ devices, ram }: Holding): number {
  return ram + sum(devices)
}

/** One that has failed holds nothing any more. */
function claimedBytes({ claim }: Replica): number {
  return (claim?.ram ?? 0) + sum(claim?.devices ?? [])
}

/** Null also when its part on devices cannot be told: half a figure beside a whole claim would mislead. */
function measuredBytes({ claim, measured }: Replica): number | null {
  if (!measured || (measured.devices === null && claim !== null && claim.devices.length > 0)) return null
  return measured.ram + sum(measured.devices ?? [])
}

export function explainRefusal(refusal: Refusal): ExplainedRefusal {
  const { filter, needed, available, where } = refusal
  return { filter, needed, available, where, text: describeRefusal(refusal) }
}

function keyOf({ modelName, replicaIndex }: Replica): string {
  return replicaKey(modelName, replicaIndex)
}

function sum(devices: readonly { bytes: number }[]): number {
  return devices.reduce((total, { bytes }) => total + bytes, 0)
}
