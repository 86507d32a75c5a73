import type { Metrics } from '../../platform/metrics/metrics.ts'
import type { LiveTable } from '../table/routing-table.ts'

export interface TableFacts {
  table: Pick<LiveTable, 'models' | 'model' | 'route' | 'routesOf' | 'loadOf'>
  /** Time since control was last heard; undefined before the first time. */
  silentMs(): number | undefined
  isStale(): boolean
  /** Requests of a model that wait for a place. */
  waitingFor(modelName: string): number
}

/** Gauges of a gateway's models, computed when they are read. */
export function tableGauges(metrics: Metrics, facts: TableFacts): void {
  const { table } = facts
  const perModel = function* (count: (name: string) => number) {
    for (const { name } of table.models()) yield { labels: [name], value: count(name) }
  }
  metrics.gauge('flotilla_ready_replicas', 'Replicas that this gateway can send requests to.', ['model'], () =>
    perModel((name) => table.routesOf(name).length),
  )
  metrics.gauge('flotilla_requests_in_flight', 'Requests that run now, of this gateway.', ['model'], () =>
    perModel((name) => table.routesOf(name).reduce((sum, route) => sum + table.loadOf(route).here, 0)),
  )
  metrics.gauge('flotilla_requests_waiting', 'Requests that wait for their turn at this gateway.', ['model'], () =>
    perModel((name) => facts.waitingFor(name)),
  )
  metrics.gauge('flotilla_routing_table_age_seconds', 'Since control last confirmed the routing table.', [], () => {
    const silentMs = facts.silentMs()
    return silentMs === undefined ? [] : [{ labels: [], value: silentMs / 1000 }]
  })
  metrics.gauge('flotilla_routing_table_stale', '1 when requests are served from a table that may be old.', [], () => [
    { labels: [], value: facts.isStale() ? 1 : 0 },
  ])
}
