import { Fleet } from '../../src/core/placement/fleet.ts'
import { needOf } from '../../src/core/placement/need-of.ts'
import { place } from '../../src/core/placement/place.ts'
import { mismatchOf } from '../../src/core/nodes/selector.ts'
import type { Model, Replica, Rule, World } from '../../src/core/types.ts'

/**
 * The plain way to keep rules, as LocalAI's reconciler goes about it: for each rule look through all nodes and all
 * replicas, and for each replica that is missing look through all of them again for what is free. It knows neither
 * revisions nor failures nor evictions. Returns how many it would start.
 */
export function scanPlan(world: World): number {
  let started = 0
  const replicas = [...world.replicas]
  for (const rule of world.rules) {
    const model = world.models.find(({ name }) => name === rule.modelName)
    if (!model) continue
    for (let missing = missingOf(rule, world, replicas); missing > 0; missing -= 1) {
      const fleet = new Fleet(world.nodes, replicas, world.models)
      const placement = place(needOf(world, model), fleet, { policy: 'spread' })
      if (!placement.ok) break
      replicas.push(startedAt(placement.nodeId, model, replicas[0]!))
      started += 1
    }
  }
  return started
}

function missingOf(rule: Rule, { nodes }: World, replicas: readonly Replica[]): number {
  const meant = new Set(
    nodes
      .filter(({ liveness, labels }) => liveness !== 'offline' && !mismatchOf(rule.nodeSelector, labels))
      .map(({ id }) => id),
  )
  const mine = replicas.filter(({ modelName, nodeId }) => modelName === rule.modelName && meant.has(nodeId))
  return rule.minReplicas - mine.length
}

function startedAt(nodeId: string, { name, revision }: Model, like: Replica): Replica {
  return { ...like, id: `${nodeId}/${name}`, nodeId, modelName: name, revision }
}
