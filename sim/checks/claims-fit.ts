import type { Cluster } from '../cluster.ts'
import type { Machine } from '../machine/machine.ts'
import type { SimEngine } from '../machine/engine.ts'
import { bytesOn } from '../machine-memory.ts'
import { engineKinds, type EngineName } from '../model-kinds.ts'
import type { Check } from './check.ts'

interface Row {
  id: string
  model_name: string
  state: string
  generation: number
  claim: Claim | null
  measured: { devices: { index: number; bytes: number }[] | null; ram: number } | null
  ready_at: number | null
  engine: string | null
}

interface Claim {
  devices: { index: number; bytes: number }[]
  ram: number
  source: string
  alone: boolean
}

/**
 * Invariant 3: nothing is placed where it would be too much, by what the rows hold; and no engine finds its memory taken,
 * unless it or one beside it takes more than anybody said. Written apart from core/placement on purpose.
 */
export function claimsFit({ store }: Cluster): Check {
  const rowsOf = (nodeId: string): Row[] =>
    store
      .read<Record<string, string | number | null>>(
        `select r.id, r.model_name, r.state, r.generation, r.claim, r.measured, r.ready_at, m.engine
         from replicas r left join models m on m.name = r.model_name where r.node_id = $1`,
        [nodeId],
      )
      .map((row) => ({ ...row, claim: parsed(row['claim']), measured: parsed(row['measured']) }) as unknown as Row)

  const tooMuchOn = (nodeId: string, id: string): string | undefined => {
    const [node] = store.read<{ name: string; devices: string; total_ram: number | null; budget: string | null }>(
      `select name, devices, total_ram, coalesce(vram_budget_override, vram_budget) as budget from nodes where id = $1`,
      [nodeId],
    )
    if (!node) return undefined
    const devices = JSON.parse(node.devices) as { index: number; total_vram: number; unified: boolean }[]
    const rows = rowsOf(nodeId).filter(({ state }) => state !== 'failed')
    const fresh = rows.find((row) => row.id === id)
    if (!fresh) return undefined
    const sum = (bytes: (row: Row) => number): number => rows.reduce((total, row) => total + bytes(row), 0)
    const name = `${fresh.model_name} was placed on ${node.name}, where`
    let vram = 0
    let unified = 0
    for (const { index, total_vram: total, unified: isUnified } of devices) {
      const held = sum((row) => heldOn(row, index))
      vram += held
      if (isUnified) unified += held
      if (heldOn(fresh, index) === 0) continue
      if (held > total) return `${name} device ${index} has ${total} bytes and ${held} are held`
      const lone = rows.find((row) => isAlone(row) && heldOn(row, index) > 0)
      const others = rows.filter((row) => row !== lone && heldOn(row, index) > 0)
      if (lone && others.length > 0) return `${name} ${lone.id} of unknown need has device ${index} to itself`
    }
    const takesVram = (fresh.claim?.devices.length ?? 0) > 0
    const budget = budgetOf(node.budget, devices)
    if (takesVram && budget !== undefined && vram > budget) {
      return `${name} the budget is ${budget} bytes and ${vram} are held`
    }
    const ram = unified + sum(heldRam)
    const takesRam = heldRam(fresh) > 0 || (takesVram && unified > 0)
    if (takesRam && node.total_ram !== null && ram > node.total_ram) {
      return `${name} there are ${node.total_ram} bytes of memory and ${ram} are held`
    }
    return undefined
  }

  /** An engine whose row is gone is nobody's fault either: its node was given up while it was silent. */
  const unexcused = (machine: Machine, engine: SimEngine): string | undefined => {
    if (machine.nodeId === undefined) return undefined
    const rows = new Map(rowsOf(machine.nodeId).map((row) => [row.id, row]))
    for (const other of [engine, ...machine.engines.values()]) {
      const row = rows.get(other.spec.id)
      if (!row || row.generation !== other.spec.generation || row.state === 'failed') return undefined
      // Without a claim nothing was held for it: that is what this check is about.
      if (!row.claim) continue
      if (row.claim.source === 'unknown') return undefined
      const { claim } = row
      const isLie =
        other.takes.ram > claim.ram ||
        other.takes.devices.some(({ index, bytes }) => bytes > bytesOn(claim.devices, index))
      if (isLie) return undefined
    }
    const { id, model_name: model } = engine.spec
    return `${id} of ${model} found no memory on ${machine.name}, though nobody takes more than was claimed`
  }

  return {
    name: 'claims (invariant 3)',
    onCommit({ inserted }) {
      for (const { id, nodeId } of inserted) {
        const problem = tooMuchOn(nodeId, id)
        if (problem) return problem
      }
      return undefined
    },
    onOutOfMemory: unexcused,
  }
}

/** What was measured of one that serves takes the place of what was claimed, if its engine takes all of it as it loads. */
function isMeasured({ state, ready_at: readyAt, engine }: Row): boolean {
  const hasServed = state === 'ready' || readyAt !== null
  return hasServed && engine !== null && engineKinds[engine as EngineName].memory === 'on_load'
}

function heldOn(row: Row, index: number): number {
  const seen = row.measured?.devices?.find((device) => device.index === index)?.bytes
  if (seen !== undefined && isMeasured(row)) return seen
  return Math.max(seen ?? 0, bytesOn(row.claim?.devices ?? [], index))
}

function heldRam(row: Row): number {
  if (row.measured && isMeasured(row)) return row.measured.ram
  return Math.max(row.measured?.ram ?? 0, row.claim?.ram ?? 0)
}

function isAlone({ claim, state, measured }: Row): boolean {
  return claim?.alone === true && !(state === 'ready' && measured) && state !== 'draining' && state !== 'stopping'
}

/** Operators of the simulator set shares only. */
function budgetOf(text: string | null, devices: readonly { total_vram: number }[]): number | undefined {
  if (text === null || devices.length === 0) return undefined
  const share = Number(text.replace('%', '')) / 100
  return Math.floor(share * devices.reduce((sum, { total_vram: total }) => sum + total, 0))
}

function parsed(text: string | number | null | undefined): unknown {
  return typeof text === 'string' ? JSON.parse(text) : null
}
