import type { Node } from '../../src/core/types.ts'
import type { StoredReplica } from '../../src/store/replicas.ts'
import { engineKinds } from '../model-kinds.ts'
import { bytesOn } from '../machine-memory.ts'
import type { Cluster } from '../cluster.ts'
import type { Store } from '../store.ts'
import type { Check } from './check.ts'

/**
 * Invariant 3: nothing is placed where it would be too much, by what the rows hold; and no engine finds its memory taken,
 * unless it or one beside it takes more than anybody said. Written apart from core/placement on purpose.
 */
export function claimsCheck(): Check {
  return {
    name: 'claims (invariant 3)',
    look({ ground }) {
      for (const { steps } of ground.happened.applied) {
        for (const step of steps) {
          const problem = step.kind === 'reserve' ? tooMuchOn(ground.store, step.nodeId, step.modelName) : undefined
          if (problem) return problem
        }
      }
      for (const starved of ground.happened.outOfMemory) {
        const problem = unexcused(ground.store, starved)
        if (problem) return problem
      }
      return undefined
    },
  }
}

function tooMuchOn(store: Store, nodeId: string, modelName: string): string | undefined {
  const node = store.nodes.find(nodeId)!
  const rows = store.replicasOfNode(nodeId).filter(({ state }) => state !== 'failed')
  const fresh = rows.filter((row) => row.modelName === modelName && row.state === 'reserved')
  const isNew = (bytes: (row: StoredReplica) => number): boolean => fresh.some((row) => bytes(row) > 0)
  const sum = (bytes: (row: StoredReplica) => number): number => rows.reduce((total, row) => total + bytes(row), 0)
  const name = `${modelName} was placed on ${nodeId}, where`
  let vram = 0
  let unified = 0
  for (const { index, totalVram, unified: isUnified } of node.devices) {
    const held = sum((row) => heldOn(store, row, index))
    vram += held
    if (isUnified) unified += held
    if (!isNew((row) => heldOn(store, row, index))) continue
    if (held > totalVram) return `${name} device ${index} has ${totalVram} bytes and ${held} are held`
    const lone = rows.find((row) => isAlone(row) && heldOn(store, row, index) > 0)
    const others = rows.filter((row) => row !== lone && heldOn(store, row, index) > 0)
    if (lone && others.length > 0) return `${name} ${lone.id} of unknown need has device ${index} to itself`
  }
  const takesVram = isNew((row) => row.claim?.devices.length ?? 0)
  if (takesVram && node.vramBudget !== null && vram > node.vramBudget) {
    return `${name} the budget is ${node.vramBudget} bytes and ${vram} are held`
  }
  const ram = unified + sum((row) => heldRam(store, row))
  const takesRam = isNew((row) => heldRam(store, row)) || (takesVram && unified > 0)
  if (takesRam && node.totalRam !== null && ram > node.totalRam) {
    return `${name} there are ${node.totalRam} bytes of memory and ${ram} are held`
  }
  return undefined
}

/** What was measured of one that serves takes the place of what was claimed, if its engine takes all of it as it loads. */
function isMeasured(store: Store, row: StoredReplica): boolean {
  const engine = store.models.get(row.modelName)?.engine
  const hasServed = row.state === 'ready' || row.readySinceMs !== null
  return hasServed && engine !== undefined && engineKinds[engine as keyof typeof engineKinds].memory === 'on_load'
}

function heldOn(store: Store, row: StoredReplica, index: number): number {
  const seen = row.measured?.devices?.find((device) => device.index === index)?.bytes
  if (seen !== undefined && isMeasured(store, row)) return seen
  return Math.max(seen ?? 0, bytesOn(row.claim?.devices ?? [], index))
}

function heldRam(store: Store, row: StoredReplica): number {
  if (row.measured && isMeasured(store, row)) return row.measured.ram
  return Math.max(row.measured?.ram ?? 0, row.claim?.ram ?? 0)
}

function isAlone({ claim, state, measured }: StoredReplica): boolean {
  return claim?.alone === true && !(state === 'ready' && measured) && state !== 'draining' && state !== 'stopping'
}

type Starved = Cluster['ground']['happened']['outOfMemory'][number]

/** An engine whose row is gone is nobody's fault either: its node was given up while it was silent. */
function unexcused(store: Store, { machine, engine }: Starved): string | undefined {
  const node: Node | undefined = store.nodes.find(machine.id)
  for (const other of [engine, ...machine.engines]) {
    const row = store.replicas.get(other.spec.id)
    if (!row || row.generation !== other.spec.generation) return undefined
    // Without a claim nothing was held for it: that is what this check is about.
    if (!row.claim) continue
    if (row.claim.source === 'unknown') return undefined
    const isLie =
      other.takes.ram > row.claim.ram ||
      other.takes.devices.some(({ index, bytes }) => bytes > bytesOn(row.claim!.devices, index))
    if (isLie) return undefined
  }
  const { id, model_name: modelName } = engine.spec
  return `${id} of ${modelName} found no memory on ${node?.name ?? machine.id}, though nobody takes more than was claimed`
}
