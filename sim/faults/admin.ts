import { routePolicies } from '../../src/core/types.ts'
import type { Cluster } from '../cluster.ts'
import { drawMeaning } from '../model-kinds.ts'
import type { Random } from '../random.ts'

/** Values of the label that rules ask for. */
export const TIERS = ['fast', 'slow'] as const
/** Of each rule to ask for a label, and of those to ask for anything but that. */
const SELECTIVE = 0.25
const NEGATED = 0.3
/** Of each rule to ask for one on every node. */
const EVERYWHERE = 0.2

/** What people ask for through the API. With no frontend up there is nobody to ask. */

export function changeRule(cluster: Cluster, modelNames: readonly string[]): void {
  ask(cluster, () => {
    const { random, store } = cluster.ground
    const modelName = random.oneOf(modelNames)!
    // Now and then more than the cluster has slots for, and fewer than before.
    const most = random.chance(0.5) ? 2 : cluster.machines.length + 4
    const minReplicas = random.between(0, random.between(1, most))
    const maxReplicas = random.chance(0.5) ? 0 : minReplicas + random.between(0, 2)
    const spreadAll = random.chance(EVERYWHERE)
    const nodeSelector = drawSelector(random)
    const routePolicy = random.oneOf(routePolicies)!
    store.rules.set(modelName, {
      modelName,
      nodeSelector,
      routePolicy,
      minReplicas: spreadAll ? 0 : minReplicas,
      maxReplicas: spreadAll ? 0 : maxReplicas,
      spreadAll,
      scaleToZeroAfterMs: null,
      source: 'api',
      unsatisfiableUntilMs: null,
      unsatisfiableTicks: 0,
    })
    const where = nodeSelector['tier'] === undefined ? '' : ` on ${nodeSelector['tier']} nodes`
    return `rule of ${modelName}: ${spreadAll ? 'one on each' : `${minReplicas} to ${maxReplicas}`}${where}`
  })
}

function drawSelector(random: Random): Record<string, string> {
  if (!random.chance(SELECTIVE)) return {}
  return { tier: `${random.chance(NEGATED) ? '!' : ''}${random.oneOf(TIERS)!}` }
}

/** A new model, or a new meaning of an old one: its replicas have to be replaced. */
export function changeModel(cluster: Cluster, modelNames: readonly string[]): void {
  ask(cluster, () => {
    const { random, store, queue, counts } = cluster.ground
    const name = random.oneOf(modelNames)!
    const times = { createdMs: store.models.get(name)?.createdMs ?? queue.nowMs, updatedMs: queue.nowMs }
    const revision = `v${counts.changes}`
    const meaning = drawMeaning(random)
    store.models.set(name, { name, source: null, revision, origin: 'api', ...meaning, ...times })
    return `model ${name}: revision ${revision}, ${meaning.engine} ${JSON.stringify(meaning.memory ?? meaning.options)}`
  })
}

export function deleteModel(cluster: Cluster, modelNames: readonly string[]): void {
  ask(cluster, () => {
    const name = cluster.ground.random.oneOf(modelNames)!
    cluster.ground.store.models.delete(name)
    return `deletes the model ${name}`
  })
}

export function deleteRule(cluster: Cluster, modelNames: readonly string[]): void {
  ask(cluster, () => {
    const name = cluster.ground.random.oneOf(modelNames)!
    cluster.ground.store.rules.delete(name)
    return `deletes the rule of ${name}`
  })
}

/** What has a slot keeps it, however few there are now. */
export function changeSlots(cluster: Cluster): void {
  const { random, store } = cluster.ground
  const node = random.oneOf([...store.nodes.list()])
  if (!node) return
  ask(cluster, () => {
    const maxReplicasPerModel = random.between(1, 3)
    store.nodes.change(node.id, { maxReplicasPerModel })
    return `slots of ${node.id}: ${maxReplicasPerModel}`
  })
}

/** Also below what is held: then nothing more comes. */
export function changeBudget(cluster: Cluster): void {
  const { random, store } = cluster.ground
  const node = random.oneOf([...store.nodes.list()].filter(({ devices }) => devices.length > 0))
  if (!node) return
  ask(cluster, () => {
    const total = node.devices.reduce((sum, { totalVram }) => sum + totalVram, 0)
    const share = random.oneOf([undefined, 0.3, 0.8])
    const vramBudget = share === undefined ? null : Math.floor(total * share)
    store.nodes.change(node.id, { vramBudget })
    return `budget of ${node.id}: ${share ?? 'none'}`
  })
}

/** What was right on a node may be wrong on it now, and the other way round. */
export function changeLabel(cluster: Cluster): void {
  const { random, store } = cluster.ground
  const node = random.oneOf([...store.nodes.list()])
  if (!node) return
  ask(cluster, () => {
    const tier = random.oneOf([...TIERS, undefined])
    store.nodes.change(node.id, { labels: tier === undefined ? {} : { tier } })
    return `labels ${node.id}: ${tier ?? 'nothing'}`
  })
}

/** Those who went together are not waited for any longer. Those who are back after all are taken as they come. */
export function acceptLoss(cluster: Cluster): void {
  ask(cluster, () => {
    const { store, queue } = cluster.ground
    store.lossAcceptedMs = queue.nowMs
    return 'accepts the loss of what is gone'
  })
}

function ask(cluster: Cluster, change: () => string): void {
  if (cluster.controls.size === 0) return
  cluster.ground.counts.changes += 1
  cluster.ground.trace.add('user', change())
  cluster.wake()
}
