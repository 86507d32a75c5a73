import { isEnding } from '../lifecycle/states.ts'
import { massLoss } from '../nodes/mass-loss.ts'
import { place, type Need, type Refusal } from '../placement/place.ts'
import { mismatchOf } from '../placement/selector.ts'
import type { Model, Node, Replica, Rule, World } from '../types.ts'

export type Step =
  /** Take a slot for a new replica. */
  | {
      kind: 'reserve'
      modelName: string
      nodeId: string
      replicaIndex: number
      generation: number
      revision: string
      failures: number
    }
  /** Drain and stop a replica that is no longer wanted. */
  | { kind: 'stop'; replica: Replica; why: 'no model' | 'no rule' | 'old revision' | 'surplus' | 'selector' }
  /** Give up a row that has no process: its node is gone, or its start failed. */
  | { kind: 'forget'; replica: Replica; why: 'node offline' | 'failed' }

export interface Plan {
  steps: Step[]
  /** Nodes of a mass disappearance: their replicas are neither given up nor replaced until it is over. */
  frozen: Node[]
  /** Rules that ask for more than the cluster can hold now, with every node's reason. */
  unmet: { modelName: string; missing: number; refusals: Refusal[] }[]
}

/** What to do so that every rule is kept. Pure: the same world gives the same plan. */
export function reconcile(world: World): Plan {
  const plan: Plan = { steps: [], unmet: [], frozen: massLoss(world.nodes) }
  const gone = world.nodes.filter((node) => node.liveness === 'offline' && !plan.frozen.includes(node))
  const offline = new Set(gone.map((node) => node.id))
  const nodes = new Map(world.nodes.map((node) => [node.id, node]))
  const rules = new Map(world.rules.map((rule) => [rule.modelName, rule]))
  const models = new Map(world.models.map((model) => [model.name, model]))

  const names = new Set([...rules.keys(), ...world.replicas.map((replica) => replica.modelName)])
  const held = new Set(world.replicas)
  for (const modelName of [...names].toSorted()) {
    const mine = world.replicas.filter((replica) => replica.modelName === modelName)
    const [model, rule] = [models.get(modelName), rules.get(modelName)]
    const sets = sortOut(mine, model, rule, { offline, nodes })
    for (const replica of sets.lost) forget(plan, held, replica, 'node offline')
    for (const replica of sets.done) forget(plan, held, replica, 'failed')
    for (const { replica, why } of sets.unwanted) plan.steps.push({ kind: 'stop', replica, why })
    if (model && rule) startMissing(plan, world, held, { model, selector: rule.nodeSelector }, sets)
  }
  return plan
}

interface Sets {
  /** Ready or on the way. */
  keep: Replica[]
  /** On a node that is gone. */
  lost: Replica[]
  unwanted: { replica: Replica; why: Extract<Step, { kind: 'stop' }>['why'] }[]
  /** Could not start; remembered, so that the node is left alone for a while. */
  failed: Replica[]
  /** Could not start, and no longer worth remembering. */
  done: Replica[]
  missing: number
}

/** Names the sets of one model's replicas; what follows writes itself. */
function sortOut(
  mine: readonly Replica[],
  model: Model | undefined,
  rule: Rule | undefined,
  { offline, nodes }: { offline: ReadonlySet<string>; nodes: ReadonlyMap<string, Node> },
): Sets {
  const misplaced: Replica[] = []
  const sets: Sets = { keep: [], lost: [], unwanted: [], failed: [], done: [], missing: 0 }
  for (const replica of mine) {
    const node = nodes.get(replica.nodeId)
    if (offline.has(replica.nodeId)) sets.lost.push(replica)
    else if (isEnding(replica.state)) continue
    else if (replica.state === 'failed') {
      // It has no process, so there is nothing to stop.
      if (rule && replica.revision === model?.revision) sets.failed.push(replica)
      else sets.done.push(replica)
    } else if (!model) sets.unwanted.push({ replica, why: 'no model' })
    else if (!rule) sets.unwanted.push({ replica, why: 'no rule' })
    else if (replica.revision !== model.revision) sets.unwanted.push({ replica, why: 'old revision' })
    else if (node && mismatchOf(rule.nodeSelector, node.labels)) misplaced.push(replica)
    // It stays and finishes what it has, in case the node is resumed; but it serves nobody new, so it is replaced.
    else if (node?.desired !== 'draining') sets.keep.push(replica)
  }
  if (!model || !rule) return sets
  // Highest index first, so that the replicas left are the ones a person expects: #0, #1, …
  sets.keep.sort((a, b) => a.replicaIndex - b.replicaIndex || (a.nodeId < b.nodeId ? -1 : 1))
  while (rule.maxReplicas > 0 && sets.keep.length > rule.maxReplicas) {
    sets.unwanted.push({ replica: sets.keep.pop()!, why: 'surplus' })
  }
  sets.missing = Math.max(0, rule.minReplicas - sets.keep.length)
  // Only when enough are ready, not merely on the way: else two bad nodes would be tried in turn without any wait.
  const ready = sets.keep.filter((replica) => replica.state === 'ready').length
  if (ready < rule.minReplicas) return sets
  sets.done.push(...sets.failed.splice(0))
  // Until then a misplaced one serves nobody, but a label that was changed by mistake can still be put back.
  for (const replica of misplaced) sets.unwanted.push({ replica, why: 'selector' })
  return sets
}

interface Wanted {
  model: Model
  selector: Rule['nodeSelector']
}

/** Other nodes first; a node where the model failed to start is tried again when its wait is over and no other is left. */
function startMissing(plan: Plan, world: World, held: Set<Replica>, wanted: Wanted, sets: Sets): void {
  const { model, selector } = wanted
  const need = { modelName: model.name, engine: model.engine, selector }
  const failing = new Map(sets.failed.map((replica) => [replica.nodeId, describeWait(replica, world.nowMs)]))
  const due = sets.failed
    .filter((replica) => (replica.retryAtMs ?? 0) <= world.nowMs && mayRetry(world, replica, need))
    .toSorted((a, b) => (a.retryAtMs ?? 0) - (b.retryAtMs ?? 0))
  for (let missing = sets.missing; missing > 0; missing -= 1) {
    const placement = place({ ...need, failing }, world.nodes, [...held])
    const before = placement.ok ? undefined : due.shift()
    if (before) forget(plan, held, before, 'failed')
    const slot = placement.ok ? placement : before
    if (!slot) {
      plan.unmet.push({ modelName: model.name, missing, refusals: placement.refusals })
      return
    }
    const { nodeId, replicaIndex } = slot
    // The store's time, so that it grows even after the slot's last row was deleted.
    const generation = Math.max(world.nowMs, (before?.generation ?? 0) + 1)
    // A slot that failed before keeps its count, so that the wait between tries grows.
    const failures = before?.failures ?? 0
    const { name: modelName, revision } = model
    plan.steps.push({ kind: 'reserve', modelName, nodeId, replicaIndex, generation, revision, failures })
    held.add(reservedReplica({ modelName, nodeId, replicaIndex, generation, revision, failures }))
  }
}

/** The node may have changed since: whatever else would refuse it, refuses it again. */
function mayRetry(world: World, replica: Replica, need: Need): boolean {
  const node = world.nodes.find(({ id }) => id === replica.nodeId)
  return node !== undefined && place(need, [node], []).ok && replica.replicaIndex < node.maxReplicasPerModel
}

function describeWait({ failures, retryAtMs }: Replica, nowMs: number): string {
  const seconds = Math.max(0, Math.ceil(((retryAtMs ?? nowMs) - nowMs) / 1000))
  return `failed ${failures} times, next try in ${seconds} s`
}

function forget(plan: Plan, held: Set<Replica>, replica: Replica, why: Extract<Step, { kind: 'forget' }>['why']): void {
  plan.steps.push({ kind: 'forget', replica, why })
  held.delete(replica)
}

/** Stands in for the row that the step will insert, so that the next placement sees its slot taken. */
function reservedReplica(
  step: Pick<Replica, 'modelName' | 'nodeId' | 'replicaIndex' | 'generation' | 'revision' | 'failures'>,
): Replica {
  return { id: '', state: 'reserved', error: null, retryAtMs: null, knownFromSeq: null, ...step }
}
