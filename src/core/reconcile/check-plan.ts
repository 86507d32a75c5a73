import { mismatchOf } from '../placement/selector.ts'
import type { World } from '../types.ts'
import type { Plan } from './reconcile.ts'

/**
 * The invariants a plan must keep, checked before it is applied. A broken one is a bug in the planner: the plan is
 * dropped and nothing is harmed. Returns what is wrong; nothing when all is well.
 */
export function checkPlan(world: World, plan: Plan): string[] {
  const problems: string[] = []
  const nodes = new Map(world.nodes.map((node) => [node.id, node]))
  const engines = new Map(world.models.map(({ name, engine }) => [name, engine]))
  const selectors = new Map(world.rules.map(({ modelName, nodeSelector }) => [modelName, nodeSelector]))
  const forgotten = new Set(plan.steps.flatMap((step) => (step.kind === 'forget' ? [step.replica] : [])))
  const taken = new Set<string>()
  for (const replica of world.replicas) {
    if (!forgotten.has(replica)) taken.add(slotOf(replica.nodeId, replica.modelName, replica.replicaIndex))
  }
  for (const step of plan.steps) {
    if (step.kind !== 'reserve') continue
    const node = nodes.get(step.nodeId)
    const slot = slotOf(step.nodeId, step.modelName, step.replicaIndex)
    if (!node) problems.push(`${slot}: the node does not exist`)
    else if (!node.approved) problems.push(`${slot}: the node is not approved`)
    else if (node.nodeType !== 'backend') problems.push(`${slot}: the node is an ${node.nodeType}`)
    else if (node.desired !== 'active') problems.push(`${slot}: the node is ${node.desired}`)
    else if (node.liveness !== 'online') problems.push(`${slot}: the node is ${node.liveness}`)
    else if (step.replicaIndex >= node.maxReplicasPerModel)
      problems.push(`${slot}: the node has ${node.maxReplicasPerModel} slots`)
    const engine = engines.get(step.modelName)
    if (node && engine !== undefined && node.engines[engine] !== null)
      problems.push(`${slot}: the node cannot run ${engine}`)
    const mismatch = node && mismatchOf(selectors.get(step.modelName) ?? {}, node.labels)
    if (mismatch) problems.push(`${slot}: the rule asks for ${mismatch.needed}, the node has ${mismatch.available}`)
    if (taken.has(slot)) problems.push(`${slot}: the slot is taken`)
    taken.add(slot)
  }
  return problems
}

function slotOf(nodeId: string, modelName: string, replicaIndex: number): string {
  return `${nodeId}/${modelName}#${replicaIndex}`
}
