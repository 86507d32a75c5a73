import type { Plan, Step } from '../../src/core/reconcile/plan.ts'
import { reconcile } from '../../src/core/reconcile/reconcile.ts'
import type { Node, Rule, World } from '../../src/core/types.ts'
import type { Sql } from '../../src/store/sql.ts'
import { loadWorld } from '../../src/store/world/world.ts'
import type { Traffic } from '../clients/traffic.ts'
import type { Cluster } from '../cluster.ts'
import type { Check } from './check.ts'
import { isMeant } from './meant.ts'

/** After the quiet time: nothing left to do, every rule kept or refused by every node, nothing left over anywhere. */
export function converges(cluster: Cluster, traffic: Traffic): Check {
  const { store, settings } = cluster
  const sql: Sql = { query: async (text, params = []) => store.read(text, params) as never }
  return {
    name: 'convergence (the quiet end)',
    async atEnd() {
      const world = await loadWorld(sql)
      const plan = reconcile(world, settings.policy)
      const [step] = plan.steps
      if (step) return `the planner still wants to ${describe(step, world)}`
      for (const rule of world.rules) {
        const why = whyUnkept(rule, world, plan)
        const asked = rule.spreadAll ? 'one on each' : `${rule.minReplicas} to ${rule.maxReplicas}`
        if (why) return `the rule of ${rule.modelName} (${asked}): ${why}`
      }
      return (
        notThere(cluster) ??
        unfinishedRow(world, plan) ??
        leftOver(cluster) ??
        staleGateway(cluster, world) ??
        (traffic.open.size > 0 ? `${traffic.open.size} requests are still open` : undefined)
      )
    },
  }
}

function describe(step: Step, { nodes }: World): string {
  const { modelName, replicaIndex, nodeId } = step.kind === 'reserve' ? step : step.replica
  const why = 'why' in step ? ` (${step.why})` : ''
  return `${step.kind} ${modelName}#${replicaIndex} on ${nodes.find(({ id }) => id === nodeId)?.name}${why}`
}

/** All machines are up and approved by now. */
function notThere({ machines, store }: Cluster): string | undefined {
  for (const { name, nodeId, worker } of machines) {
    const node = nodeId === undefined ? undefined : store.mirror.nodes.get(nodeId)
    if (!worker?.isJoined || !node)
      return `${name} is not back in the cluster: ${worker?.describe() ?? 'it has no worker'}`
    if (node.liveness !== 'online' || !node.approved) return `${name} is ${node.liveness}, approved: ${node.approved}`
  }
  return undefined
}

function whyUnkept(rule: Rule, world: World, plan: Plan): string | undefined {
  const model = world.models.find(({ name }) => name === rule.modelName)
  if (!model) return undefined
  const meant = (node: Node): boolean => isThere(node) && isMeant(JSON.stringify(rule.nodeSelector), node.labels)
  const serving = new Set(world.nodes.filter(meant).map(({ id }) => id))
  const ready = world.replicas.filter(
    (one) =>
      one.modelName === rule.modelName &&
      one.state === 'ready' &&
      one.revision === model.revision &&
      serving.has(one.nodeId),
  )
  const unmet = plan.unmet.find((one) => one.modelName === rule.modelName)
  const refuses = (nodeId: string): boolean => unmet?.refusals.some((one) => one.nodeId === nodeId) ?? false
  if (rule.spreadAll) {
    for (const id of serving) {
      const count = ready.filter(({ nodeId }) => nodeId === id).length
      if (count > 1) return `${id} has ${count}`
      if (count === 0 && !refuses(id)) return `${id} has none and gives no reason`
    }
    return undefined
  }
  if (rule.maxReplicas > 0 && ready.length > rule.maxReplicas) return `${ready.length} are ready, more than the most`
  if (ready.length >= rule.minReplicas) return undefined
  if (!unmet) return `${ready.length} replicas can serve, and nothing says why there are not more`
  if (unmet.missing < rule.minReplicas - ready.length) {
    return `${ready.length} can serve, yet ${unmet.missing} are said to be missing`
  }
  const silent = world.nodes.find(({ id }) => !refuses(id))
  return silent && `unmet, and ${silent.name} gives no reason`
}

function isThere({ approved, desired, liveness }: Node): boolean {
  return approved && desired === 'active' && liveness === 'online'
}

/** What is left is ready, and is what the model and the rule ask for today. */
function unfinishedRow({ replicas, models, rules, nodes }: World, { unmet }: Plan): string | undefined {
  for (const { modelName, replicaIndex, nodeId, state, revision, id } of replicas) {
    const name = `${modelName}#${replicaIndex} on ${nodes.find((node) => node.id === nodeId)?.name} (${id})`
    const rule = rules.find((one) => one.modelName === modelName)
    const lack = unmet.find((one) => one.modelName === modelName)
    // Remembered for the day when the node may take it again, for as long as its model is short of replicas; or, when
    // nobody asks for the model, for those who may come back.
    const refusal = lack?.refusals.find((one) => one.nodeId === nodeId)
    const isRemembered = refusal ? refusal.filter !== 'failing' : !rule?.minReplicas && !rule?.spreadAll
    if (state === 'failed' && isRemembered) continue
    if (state !== 'ready') return `${name} is still ${state}`
    const current = models.find((model) => model.name === modelName)?.revision
    const isServed = replicas.some(
      (one) => one.modelName === modelName && one.revision === current && one.state === 'ready',
    )
    if (revision !== current && !lack && !isServed) return `${name} is of an old revision, and nothing says why`
  }
  return undefined
}

/** Processes, ports and journals that nobody needs. */
function leftOver(cluster: Cluster): string | undefined {
  const { store } = cluster
  for (const { name, engines, journal, worker, isUp } of cluster.everyMachine()) {
    // A copy that is off: all others are up by now.
    if (!isUp) continue
    for (const { spec } of engines.values()) {
      if (!store.mirror.replicas.has(spec.id))
        return `${name} still runs ${spec.model_name} (${spec.id}), without a row`
    }
    const running = new Set([...engines.values()].map(({ spec }) => spec.id))
    for (const { folder } of journal.list()) {
      if (!running.has(folder)) return `${name} still has the journal of ${folder}, which does not run`
    }
    for (const { spec, state } of worker?.supervisor?.all() ?? []) {
      if (state !== 'failed' && !store.mirror.replicas.has(spec.id)) return `${name} still has ${spec.id} (${state})`
    }
  }
  return undefined
}

function staleGateway(cluster: Cluster, { models, replicas, rules, nodes }: World): string | undefined {
  for (const [name, { table }] of cluster.gatewaysUp) {
    for (const { name: model, revision } of models) {
      const rule = rules.find(({ modelName }) => modelName === model)
      const wanted = replicas.filter((one) => {
        const node = nodes.find(({ id }) => id === one.nodeId)
        if (one.modelName !== model || one.state !== 'ready' || one.revision !== revision || !node) return false
        return isThere(node) && isMeant(JSON.stringify(rule?.nodeSelector ?? {}), node.labels)
      })
      const known = table.routesOf(model).length
      if (known !== wanted.length) return `${name} knows ${known} replicas of ${model}, and there are ${wanted.length}`
    }
  }
  return undefined
}
