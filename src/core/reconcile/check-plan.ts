import { isOnTheWay } from '../lifecycle/states.ts'
import { Fleet } from '../placement/fleet.ts'
import { claimRefusal, describeRefusal } from '../placement/refusals.ts'
import { mismatchOf } from '../nodes/selector.ts'
import { mayServeOn } from '../nodes/availability.ts'
import type { Replica, World } from '../types.ts'
import type { Plan } from './plan.ts'
import { reservedReplica } from './reserved-replica.ts'

/**
 * The invariants a plan must keep, checked before it is applied. A broken one is a bug in the planner: the plan is
 * dropped and nothing is harmed. Returns what is wrong; nothing when all is well.
 */
export function checkPlan(world: World, plan: Plan): string[] {
  return [...checkReserves(world, plan), ...checkEvictions(world, plan)]
}

function checkReserves(world: World, plan: Plan): string[] {
  const problems: string[] = []
  // Nothing is asked of the other nodes, and a fleet of all of them costs as much as the plan itself.
  const meant = new Set(plan.steps.flatMap((step) => (step.kind === 'reserve' ? [step.nodeId] : [])))
  if (meant.size === 0) return problems
  const nodes = new Map(world.nodes.filter(({ id }) => meant.has(id)).map((node) => [node.id, node]))
  const engines = new Map(world.models.map(({ name, engine }) => [name, engine]))
  const selectors = new Map(world.rules.map(({ modelName, nodeSelector }) => [modelName, nodeSelector]))
  const forgotten = new Set(plan.steps.flatMap((step) => (step.kind === 'forget' ? [step.replica] : [])))
  const held = world.replicas.filter((replica) => meant.has(replica.nodeId) && !forgotten.has(replica))
  const fleet = new Fleet([...nodes.values()], held, world.models)
  const taken = new Set(held.map((replica) => slotOf(replica)))
  const spread = new Set(world.rules.flatMap(({ modelName, spreadAll }) => (spreadAll ? [modelName] : [])))
  for (const step of plan.steps) {
    if (step.kind !== 'reserve') continue
    const node = nodes.get(step.nodeId)
    const slot = slotOf(step)
    if (!node) {
      problems.push(`${slot}: the node does not exist`)
      continue
    }
    if (!node.approved) problems.push(`${slot}: the node is not approved`)
    else if (node.nodeType !== 'backend') problems.push(`${slot}: the node is an ${node.nodeType}`)
    else if (node.desired !== 'active') problems.push(`${slot}: the node is ${node.desired}`)
    else if (node.liveness !== 'online') problems.push(`${slot}: the node is ${node.liveness}`)
    else if (step.replicaIndex >= node.maxReplicasPerModel)
      problems.push(`${slot}: the node has ${node.maxReplicasPerModel} slots`)
    const engine = engines.get(step.modelName)
    if (engine !== undefined && node.engines[engine]?.whyNot !== null)
      problems.push(`${slot}: the node cannot run ${engine}`)
    const mismatch = mismatchOf(selectors.get(step.modelName) ?? {}, node.labels)
    if (mismatch) problems.push(`${slot}: the rule asks for ${mismatch.needed}, the node has ${mismatch.available}`)
    const beside = fleet.replicasOn(step.nodeId).filter((other) => runsBeside(other, step))
    if (taken.has(slot)) problems.push(`${slot}: the slot is taken`)
    else if (beside.length >= node.maxReplicasPerModel)
      problems.push(`${slot}: the node has ${node.maxReplicasPerModel} slots, and ${beside.length} run there`)
    if (spread.has(step.modelName) && beside.some((other) => isSecond(other, step)))
      problems.push(`${slot}: the rule asks for one on each node, and there is one`)
    const refusal = claimRefusal(fleet, step.nodeId, step.claim)
    if (refusal) problems.push(`${slot}: ${describeRefusal(refusal)}`)
    taken.add(slot)
    fleet.add(reservedReplica(step))
  }
  return problems
}

/** Only what is idle, and never so many that less is left than a rule asks for. */
function checkEvictions({ rules, models, replicas, nodes }: World, plan: Plan): string[] {
  const problems: string[] = []
  if (!plan.steps.some(({ kind }) => kind === 'evict')) return problems
  const nodeOf = new Map(nodes.map((node) => [node.id, node]))
  const selectors = new Map(rules.map(({ modelName, nodeSelector }) => [modelName, nodeSelector]))
  const minima = new Map(
    rules.map(({ modelName, minReplicas, spreadAll }) => [modelName, spreadAll ? Infinity : minReplicas]),
  )
  const revisions = new Map(models.map(({ name, revision }) => [name, revision]))
  const evicted = new Map<string, number>()
  for (const step of plan.steps) {
    if (step.kind !== 'evict') continue
    const { replica } = step
    if (replica.inFlight > 0) problems.push(`${slotOf(replica)}: evicted although it is busy`)
    if (!isCounted(replica)) continue
    evicted.set(replica.modelName, (evicted.get(replica.modelName) ?? 0) + 1)
  }
  for (const [name, count] of evicted) {
    const ready = replicas.filter(
      (replica) => replica.modelName === name && replica.state === 'ready' && isCounted(replica),
    )
    const left = ready.length - count
    const least = minima.get(name) ?? 0
    if (left < least && count > 0 && ready.length >= least) {
      problems.push(`${name}: ${left} replicas are left after evictions, its rule asks for ${least}`)
    }
  }
  return problems

  /** A replica of an old revision, or on a node that is drained or no longer selected, gets no requests. */
  function isCounted({ modelName, nodeId, revision }: Replica): boolean {
    return revision === revisions.get(modelName) && mayServeOn(selectors.get(modelName) ?? {}, nodeOf.get(nodeId))
  }
}

function slotOf({ nodeId, modelName, replicaIndex }: Pick<Replica, 'nodeId' | 'modelName' | 'replicaIndex'>): string {
  return `${nodeId}/${modelName}#${replicaIndex}`
}

/** In a slot of the same model, also while it ends. */
function runsBeside({ modelName, state }: Replica, step: Pick<Replica, 'modelName'>): boolean {
  return modelName === step.modelName && state !== 'failed'
}

/** Of the same meaning, and there to stay. */
function isSecond(other: Replica, { revision }: Pick<Replica, 'revision'>): boolean {
  return other.revision === revision && (other.state === 'ready' || isOnTheWay(other.state))
}
