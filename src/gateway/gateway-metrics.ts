import type { Metrics } from '../platform/metrics.ts'
import type { Decision } from './decisions.ts'
import type { LiveTable } from './routing-table.ts'

export interface TableFacts {
  table: Pick<LiveTable, 'models' | 'model' | 'routesOf' | 'loadOf'>
  /** Since control was last heard; undefined before the first time. */
  silentMs(): number | undefined
  isStale(): boolean
  /** Requests of a model that wait for their turn. */
  waitingFor(modelName: string): number
}

/** Seconds; from a cached answer to a long story. */
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]

/** What a gateway counts. Returns what takes in each request when it has ended. */
export function gatewayMetrics(metrics: Metrics, facts: TableFacts): (decision: Decision) => void {
  const { table } = facts
  const requests = metrics.counter('flotilla_requests_total', 'Requests that ended, by the status that was answered.', [
    'model',
    'status',
  ])
  const duration = metrics.histogram(
    'flotilla_request_duration_seconds',
    'From the head of a request to the end of its answer.',
    ['model'],
    BOUNDS,
  )
  const tries = metrics.counter('flotilla_tries_total', 'Replicas that requests were sent to, by how that went.', [
    'model',
    'outcome',
  ])
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
  return ({ model, status, atMs, endedMs, tries: made }) => {
    // Names of models that there are; clients make up any number of others.
    const known = model !== null && table.model(model) ? model : 'unknown'
    requests.cell(known, String(status)).value += 1
    duration.cell(known).observe((endedMs - atMs) / 1000)
    for (const { outcome } of made) tries.cell(known, outcome.replace(' ', '_')).value += 1
  }
}
