import type { Node, Rule, World } from '../../src/core/types.ts'
import type { Plan, Step } from '../../src/core/reconcile/reconcile.ts'
import type { Cluster } from '../cluster.ts'

export const CONVERGENCE = 'convergence (the quiet end)'

/** After the quiet time: nothing left to do, every rule kept or refused by every node, no strays, gateways up to date. */
export function findUnconverged(cluster: Cluster): string | undefined {
  const { store, parts } = cluster.ground
  const world = store.loadWorld()
  const plan = parts.reconcile(world)
  const [step] = plan.steps
  if (step) return `the planner still wants to ${describe(step)}`
  for (const rule of world.rules) {
    const why = whyUnkept(rule, world, plan)
    if (why) return `the rule of ${rule.modelName} (${rule.minReplicas} to ${rule.maxReplicas}): ${why}`
  }
  return unfinishedRow(world, plan) ?? strayProcess(cluster) ?? staleGateway(cluster)
}

function describe(step: Step): string {
  const { modelName, replicaIndex, nodeId } = step.kind === 'reserve' ? step : step.replica
  return `${step.kind} ${modelName}#${replicaIndex} on ${nodeId}`
}

function whyUnkept(rule: Rule, world: World, plan: Plan): string | undefined {
  const model = world.models.find(({ name }) => name === rule.modelName)
  if (!model) return undefined
  const serving = new Set(
    world.nodes
      .filter((node) => node.approved && node.desired === 'active' && node.liveness === 'online' && isMeant(rule, node))
      .map(({ id }) => id),
  )
  const ready = world.replicas.filter(
    (replica) =>
      replica.modelName === rule.modelName &&
      replica.state === 'ready' &&
      replica.revision === model.revision &&
      serving.has(replica.nodeId),
  ).length
  if (rule.maxReplicas > 0 && ready > rule.maxReplicas) return `${ready} replicas are ready, more than the most`
  if (ready >= rule.minReplicas) return undefined
  const unmet = plan.unmet.find(({ modelName }) => modelName === rule.modelName)
  if (!unmet) return `${ready} replicas can serve, and nothing says why there are not more`
  if (unmet.missing !== rule.minReplicas - ready)
    return `${ready} can serve, yet ${unmet.missing} are said to be missing`
  const silent = world.nodes.find(({ id }) => !unmet.refusals.some(({ nodeId }) => nodeId === id))
  return silent ? `unmet, and ${silent.id} gives no reason` : undefined
}

/** What is left is ready, and is what the model and the rule ask for today. */
function unfinishedRow({ replicas, models, rules, nodes }: World, { unmet }: Plan): string | undefined {
  for (const { id, modelName, replicaIndex, nodeId, state, revision } of replicas) {
    const name = `${id} (${modelName}#${replicaIndex} on ${nodeId})`
    const rule = rules.find((one) => one.modelName === modelName)
    const node = nodes.find((one) => one.id === nodeId)
    const isOut = node?.desired === 'draining' || (rule && node && !isMeant(rule, node))
    // Remembered for the day when the node may take it again, for as long as its model is short of replicas.
    if (state === 'failed' && isOut && unmet.some((one) => one.modelName === modelName)) continue
    if (state !== 'ready') return `${name} is still ${state}`
    if (models.find((model) => model.name === modelName)?.revision !== revision) return `${name} is of an old revision`
    if (!rule) return `${name} has no rule`
  }
  return undefined
}

/** Written apart from core/placement on purpose. */
function isMeant({ nodeSelector }: Rule, { labels }: Node): boolean {
  return Object.entries(nodeSelector).every(([key, value]) => labels[key] === value)
}

function strayProcess({ ground, machines }: Cluster): string | undefined {
  for (const { id, worker, engines } of machines) {
    for (const { spec, state } of [...(worker?.supervisor.all() ?? []), ...engines]) {
      if (!ground.store.replicas.has(spec.id)) return `${id} still has ${spec.id} (${state}), which has no row`
    }
  }
  return undefined
}

function staleGateway(cluster: Cluster): string | undefined {
  const { store } = cluster.ground
  for (const { name, table } of cluster.gateways) {
    for (const model of store.models.keys()) {
      const known = table.routesOf(model).length
      const rows = [...store.replicas.values()].filter((replica) => {
        const node = store.nodes.find(replica.nodeId)
        const rule = store.rules.get(model)
        return replica.modelName === model && node?.desired === 'active' && rule && isMeant(rule, node)
      })
      if (known !== rows.length) return `${name} knows ${known} replicas of ${model}, and there are ${rows.length}`
    }
  }
  return undefined
}
