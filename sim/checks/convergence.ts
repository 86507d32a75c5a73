import type { Node, Replica, Rule, World } from '../../src/core/types.ts'
import type { Plan, Step } from '../../src/core/reconcile/plan.ts'
import type { Cluster } from '../cluster.ts'
import { isMeant } from './meant.ts'

export const CONVERGENCE = 'convergence (the quiet end)'

/** After the quiet time: nothing left to do, every rule kept or refused by every node, no strays, gateways up to date. */
export function findUnconverged(cluster: Cluster): string | undefined {
  const { store, parts } = cluster.ground
  const world = store.loadWorld()
  const plan = parts.reconcile(world, cluster.ground.policy)
  const [step] = plan.steps
  if (step) return `the planner still wants to ${describe(step)}`
  for (const rule of world.rules) {
    const why = whyUnkept(rule, world, plan)
    const asked = rule.spreadAll ? 'one on each' : `${rule.minReplicas} to ${rule.maxReplicas}`
    if (why) return `the rule of ${rule.modelName} (${asked}): ${why}`
  }
  return unfinishedRow(world, plan) ?? unanswered(cluster, world) ?? strayProcess(cluster) ?? staleGateway(cluster)
}

function describe(step: Step): string {
  const { modelName, replicaIndex, nodeId } = step.kind === 'reserve' ? step : step.replica
  return `${step.kind} ${modelName}#${replicaIndex} on ${nodeId}`
}

function whyUnkept(rule: Rule, world: World, plan: Plan): string | undefined {
  const model = world.models.find(({ name }) => name === rule.modelName)
  if (!model) return undefined
  const serving = new Set(world.nodes.filter((node) => isThere(node) && isMeant(rule, node)).map(({ id }) => id))
  const ready = world.replicas.filter(
    (replica) =>
      replica.modelName === rule.modelName &&
      replica.state === 'ready' &&
      replica.revision === model.revision &&
      serving.has(replica.nodeId),
  )
  return rule.spreadAll ? whyNotOnEach(rule, serving, ready, plan) : whyNotEnough(rule, ready.length, world, plan)
}

function isThere({ approved, desired, liveness }: Node): boolean {
  return approved && desired === 'active' && liveness === 'online'
}

/** One, and only one, on every node that is meant and there; or that node says why not. */
function whyNotOnEach(
  { modelName }: Rule,
  serving: ReadonlySet<string>,
  ready: readonly Replica[],
  plan: Plan,
): string | undefined {
  const refusals = plan.unmet.find((one) => one.modelName === modelName)?.refusals ?? []
  for (const id of serving) {
    const count = ready.filter(({ nodeId }) => nodeId === id).length
    if (count > 1) return `${id} has ${count}`
    if (count === 0 && !refusals.some(({ nodeId }) => nodeId === id)) return `${id} has none and gives no reason`
  }
  return undefined
}

function whyNotEnough(rule: Rule, ready: number, world: World, plan: Plan): string | undefined {
  if (rule.maxReplicas > 0 && ready > rule.maxReplicas) return `${ready} replicas are ready, more than the most`
  if (ready >= rule.minReplicas) return undefined
  const unmet = plan.unmet.find(({ modelName }) => modelName === rule.modelName)
  if (!unmet) return `${ready} replicas can serve, and nothing says why there are not more`
  if (unmet.missing < rule.minReplicas - ready) return `${ready} can serve, yet ${unmet.missing} are said to be missing`
  const silent = world.nodes.find(({ id }) => !unmet.refusals.some(({ nodeId }) => nodeId === id))
  return silent ? `unmet, and ${silent.id} gives no reason` : undefined
}

/** What is left is ready, and is what the model and the rule ask for today. */
function unfinishedRow({ replicas, models, rules }: World, { unmet }: Plan): string | undefined {
  for (const { id, modelName, replicaIndex, nodeId, state, revision } of replicas) {
    const name = `${id} (${modelName}#${replicaIndex} on ${nodeId})`
    const rule = rules.find((one) => one.modelName === modelName)
    const isUnmet = unmet.some((one) => one.modelName === modelName)
    // Remembered for the day when the node may take it again, for as long as its model is short of replicas; or, when
    // nobody asks for the model, for those who may come back.
    const refusal = unmet.find((one) => one.modelName === modelName)?.refusals.find((one) => one.nodeId === nodeId)
    const isRemembered = refusal ? refusal.filter !== 'failing' : !rule?.minReplicas && !rule?.spreadAll
    if (state === 'failed' && isRemembered) continue
    if (state !== 'ready') return `${name} is still ${state}`
    const current = models.find((model) => model.name === modelName)?.revision
    // Beside one that serves, that there is no room for more is no news.
    const isServed = replicas.some(
      (one) => one.modelName === modelName && one.revision === current && one.state === 'ready',
    )
    if (revision !== current && !isUnmet && !isServed)
      return `${name} is of an old revision, and nothing says why it is not replaced`
  }
  return undefined
}

/** Whoever asked now for a model that is not there would get it, or wait for what must go first, or hear every node's reason. */
function unanswered({ ground }: Cluster, world: World): string | undefined {
  for (const { name, revision } of world.models) {
    if (world.replicas.some((row) => row.modelName === name && row.state === 'ready' && row.revision === revision))
      continue
    const demand = { modelName: name, sinceMs: world.nowMs, wantedUntilMs: world.nowMs + 1000 }
    const plan = ground.parts.reconcile({ ...world, demands: [demand] }, ground.policy)
    const isPlaced = plan.steps.some((step) => step.kind === 'reserve' && step.modelName === name)
    if (isPlaced || plan.waiting.some(({ modelName }) => modelName === name)) continue
    const unmet = plan.unmet.find(({ modelName }) => modelName === name)
    if (!unmet) return `whoever asks for ${name} neither gets it nor hears why`
    const rule = world.rules.find(({ modelName }) => modelName === name)
    // One that is to be on each of some nodes is nobody else's business, unless there are none.
    const meant = rule?.spreadAll ? world.nodes.filter((node) => isMeant(rule, node) && isThere(node)) : []
    const asked = meant.length > 0 ? meant : world.nodes
    const silent = asked.find(({ id }) => !unmet.refusals.some(({ nodeId }) => nodeId === id))
    if (silent) return `whoever asks for ${name} does not hear why ${silent.id} does not take it`
  }
  return undefined
}

function strayProcess({ ground, machines }: Cluster): string | undefined {
  for (const { id, worker, engines } of machines) {
    for (const { spec, state } of [...(worker?.supervisor.all() ?? []), ...engines]) {
      // What failed has no process; its worker is told to forget it at its next heartbeat.
      if (state !== 'failed' && !ground.store.replicas.has(spec.id))
        return `${id} still has ${spec.id} (${state}), which has no row`
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
        const isCurrent = replica.revision === store.models.get(model)?.revision
        const isServing = replica.state === 'ready' && isCurrent && node?.desired === 'active'
        return replica.modelName === model && isServing && isMeant(rule, node)
      })
      if (known !== rows.length) return `${name} knows ${known} replicas of ${model}, and there are ${rows.length}`
    }
  }
  return undefined
}
