import { statusOf } from '../../core/nodes/status.ts'
import type { Plan } from '../../core/reconcile/plan.ts'
import type { Node, World } from '../../core/types.ts'
import type { Metrics, Sample } from '../../platform/metrics/metrics.ts'
import { memoryGauges } from './memory-gauges.ts'

/** What the leader knows. Other frontends leave these gauges out, so that each cluster is counted once. */
export interface ClusterFacts {
  /** Of the lease; undefined while another leads. */
  epoch: () => number | undefined
  /** After the last turn; undefined before the first, and while another leads. */
  after: () => { world: World; plan: Plan } | undefined
  /** Since a node was last heard, by the leader's own clock; undefined when it never was. */
  heardMsAgo: (nodeId: string) => number | undefined
}

/** The cluster as its leader sees it at each scrape. */
export function clusterGauges(metrics: Metrics, facts: ClusterFacts): void {
  const { epoch, after } = facts
  const gauge = (name: string, help: string, labels: string[], read: (world: World, plan: Plan) => Iterable<Sample>) =>
    metrics.gauge(name, help, labels, () => {
      const now = after()
      return now ? read(now.world, now.plan) : []
    })
  metrics.gauge('flotilla_leading', '1 while this frontend leads.', [], () => [
    { labels: [], value: epoch() === undefined ? 0 : 1 },
  ])
  metrics.gauge('flotilla_lease_epoch', 'Grows with each leader; shown by the one that leads.', [], () => {
    const now = epoch()
    return now === undefined ? [] : [{ labels: [], value: now }]
  })
  gauge('flotilla_nodes', 'Nodes, by their status.', ['status'], ({ nodes }) =>
    counted(nodes.map((one) => [statusOf(one)])),
  )
  gauge('flotilla_replicas', 'Replicas, by their state.', ['model', 'state'], ({ replicas }) =>
    counted(replicas.map(({ modelName, state }) => [modelName, state])),
  )
  gauge('flotilla_models', 'Models that there are.', [], ({ models }) => [{ labels: [], value: models.length }])
  gauge('flotilla_unplaced_replicas', 'Replicas that are wanted and find no place.', ['model'], (_world, { unmet }) =>
    unmet.map(({ modelName, missing }) => ({ labels: [modelName], value: missing })),
  )
  gauge(
    'flotilla_placement_refusals',
    'Nodes that cannot take a wanted replica, by reason.',
    ['model', 'reason'],
    (_world, { unmet }) =>
      counted(unmet.flatMap(({ modelName, refusals }) => refusals.map(({ filter }) => [modelName, filter]))),
  )
  gauge('flotilla_frozen_nodes', 'Nodes that fell silent together; their replicas are kept.', [], (_world, plan) => [
    { labels: [], value: plan.frozen.length },
  ])
  metrics.gauge(
    'flotilla_node_heartbeat_age_seconds',
    'Seconds since the leader last heard a node.',
    ['node'],
    () => agesOf(after()?.world.nodes ?? [], facts),
    'max',
  )
  memoryGauges(metrics, () => after()?.world)
}

function counted(sets: readonly string[][]): Iterable<Sample> {
  const byKey = Map.groupBy(sets, (labels) => labels.join('\0'))
  return [...byKey.values()].map((same) => ({ labels: same[0]!, value: same.length }))
}

function* agesOf(nodes: readonly Node[], { heardMsAgo }: ClusterFacts): Iterable<Sample> {
  for (const { id, name } of nodes) {
    const ms = heardMsAgo(id)
    if (ms !== undefined) yield { labels: [name], value: ms / 1000 }
  }
}
