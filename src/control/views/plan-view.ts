import { MOST_REFUSALS, type PlanImpossible, type PlanStep, type PlanView } from '../../api/admin/plan-schemas.ts'
import type { LeftWithout } from '../../core/declare/left-without.ts'
import type { Change, ForeseenStep, Foresight, Impossible } from '../../core/declare/types.ts'
import { replicaKey } from '../../core/lib/replica-key.ts'
import { refusalFilters, type Refusal } from '../../core/placement/types.ts'
import type { Node, Replica } from '../../core/types.ts'
import { viewChange } from './change-view.ts'

interface Planned {
  revision: string
  changes: readonly Change[]
  foresight: Foresight
  /** All that steps may name, as they are and as they would be. */
  nodes: readonly Node[]
  /** What is impossible as things are. */
  before: readonly Impossible[]
  absent: string[]
  left: readonly LeftWithout[]
  warnings: string[]
}

export function viewPlan(planned: Planned): PlanView {
  const { revision, changes, foresight, nodes, before, absent, left, warnings } = planned
  const names = new Map(nodes.map(({ id, name }) => [id, name]))
  const steps = foresight.steps.map((step) => viewStep(step, names))
  const missing = new Map(before.map((one) => [one.modelName, one.missing]))
  return {
    revision,
    changes: changes.map(viewChange),
    steps,
    moves: movesOf(steps),
    impossible: foresight.impossible.map((one) => viewImpossible(one, missing.get(one.modelName) ?? 0)),
    absent_nodes: absent,
    frozen_nodes: foresight.frozen.map(({ name }) => name),
    is_complete: foresight.isComplete,
    left_without: left.map(({ modelName, isReplaced }) => ({ model_name: modelName, is_replaced: isReplaced })),
    warnings,
  }
}

function viewStep(step: ForeseenStep, names: ReadonlyMap<string, string>): PlanStep {
  if (step.kind === 'start') {
    const { modelName, replicaIndex, nodeId, claim, bytesToMove } = step
    return {
      ...about(modelName, replicaIndex, names.get(nodeId) ?? nodeId),
      kind: 'start',
      devices: [...claim.devices],
      ram: claim.ram,
      source: claim.source,
      bytes_to_move: bytesToMove,
    }
  }
  const { kind, replica } = step
  const { modelName, replicaIndex, nodeId } = replica
  return {
    ...about(modelName, replicaIndex, names.get(nodeId) ?? nodeId),
    kind,
    ...heldBy(replica),
    ...(kind === 'stop' ? { why: step.why } : {}),
    ...(kind === 'evict' ? { for_model: step.forModel } : {}),
  }
}

function about(modelName: string, replicaIndex: number, nodeName: string) {
  const key = replicaKey(modelName, replicaIndex)
  const nothing = { source: null, bytes_to_move: 0, why: null, for_model: null }
  return { key, model_name: modelName, node_name: nodeName, ...nothing }
}

function heldBy({ claim, measured }: Replica): Pick<PlanStep, 'devices' | 'ram'> {
  return { devices: [...(measured?.devices ?? claim?.devices ?? [])], ram: measured?.ram ?? claim?.ram ?? 0 }
}

/** Nodes that nothing moves to are left out. */
function movesOf(steps: readonly PlanStep[]): PlanView['moves'] {
  const byNode = Map.groupBy(steps, ({ node_name: name }) => name)
  return [...byNode]
    .map(([name, some]) => ({
      node_name: name,
      bytes: some.reduce((sum, { bytes_to_move: bytes }) => sum + (bytes ?? 0), 0),
      unknown: some.filter(({ bytes_to_move: bytes }) => bytes === null).length,
    }))
    .filter(({ bytes, unknown }) => bytes + unknown > 0)
    .toSorted((a, b) => (a.node_name < b.node_name ? -1 : 1))
}

function viewImpossible(one: Impossible, missingBefore: number): PlanImpossible {
  const { modelName, missing, refusals, advice, isBusy } = one
  // The later a filter refused, the closer the node was.
  const closest = refusals.toSorted((a, b) => refusalFilters.indexOf(b.filter) - refusalFilters.indexOf(a.filter))
  return {
    model_name: modelName,
    missing,
    is_new: missing > missingBefore,
    is_busy: isBusy,
    refusals: closest.slice(0, MOST_REFUSALS).map(viewRefusal),
    more_refusals: Math.max(0, refusals.length - MOST_REFUSALS),
    advice: advice.map(({ text }) => text),
  }
}

function viewRefusal({ nodeName, filter, needed, available, where }: Refusal): PlanImpossible['refusals'][number] {
  return { node_name: nodeName, filter, needed, available, where }
}
