import { routePolicies } from '../../src/core/types.ts'
import type { Cluster } from '../cluster.ts'

/** Values of the label that rules ask for. */
export const TIERS = ['fast', 'slow'] as const
/** Of each rule to ask for a label. */
const SELECTIVE = 0.25

/** What people ask for through the API. With no frontend up there is nobody to ask. */

export function changeRule(cluster: Cluster, modelNames: readonly string[]): void {
  ask(cluster, () => {
    const { random, store } = cluster.ground
    const modelName = random.oneOf(modelNames)!
    // Now and then more than the cluster has slots for, and fewer than before.
    const minReplicas = random.between(0, random.between(1, cluster.machines.length + 4))
    const maxReplicas = random.chance(0.5) ? 0 : minReplicas + random.between(0, 2)
    const nodeSelector = random.chance(SELECTIVE) ? { tier: random.oneOf(TIERS)! } : {}
    const routePolicy = random.oneOf(routePolicies)!
    store.rules.set(modelName, { modelName, nodeSelector, routePolicy, minReplicas, maxReplicas })
    const where = nodeSelector.tier === undefined ? '' : ` on ${nodeSelector.tier} nodes`
    return `rule of ${modelName}: ${minReplicas} to ${maxReplicas}${where}`
  })
}

/** A new model, or a new meaning of an old one: its replicas have to be replaced. */
export function changeModel(cluster: Cluster, modelNames: readonly string[]): void {
  ask(cluster, () => {
    const { random, store, queue, counts } = cluster.ground
    const name = random.oneOf(modelNames)!
    const times = { created_at: store.models.get(name)?.created_at ?? queue.nowMs, updated_at: queue.nowMs }
    const revision = `v${counts.changes}`
    store.models.set(name, { name, engine: 'sim', source: null, options: {}, revision, ...times })
    return `model ${name}: revision ${revision}`
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

function ask(cluster: Cluster, change: () => string): void {
  if (cluster.controls.size === 0) return
  cluster.ground.counts.changes += 1
  cluster.ground.trace.add('user', change())
  cluster.wake()
}
