import { expect, test } from 'vitest'
import { Metrics } from '../platform/metrics.ts'
import type { Decision } from './decisions.ts'
import { gatewayMetrics } from './gateway-metrics.ts'
import { LiveTable } from './routing-table.ts'

const aDecision = (fields: Partial<Decision>): Decision =>
  ({ model: 'm', status: 200, atMs: 1000, endedMs: 1500, tries: [], ...fields }) as Decision

test('requests are counted by model, status and tries; models that there are not are counted together', () => {
  const table = new LiveTable()
  const m = { name: 'm', engine: 'sim', created_at: 1, route_policy: 'least_loaded', state: 'ready' } as const
  table.replace({ feed: 'f', version: 1, models: [m], routes: [], keys: [] })
  const metrics = new Metrics()
  const record = gatewayMetrics(metrics, {
    table,
    silentMs: () => undefined,
    isStale: () => false,
    waitingFor: () => 3,
  })
  record(aDecision({ tries: [{ outcome: 'unreachable' }, { outcome: 'served' }] as Decision['tries'] }))
  record(aDecision({ status: 503 }))
  for (const model of ['made up', 'also made up', null]) record(aDecision({ model, status: 404 }))
  const lines = metrics.text().split('\n')
  expect(lines).toEqual(
    expect.arrayContaining([
      'flotilla_requests_total{model="m",status="200"} 1',
      'flotilla_requests_total{model="m",status="503"} 1',
      'flotilla_requests_total{model="unknown",status="404"} 3',
      'flotilla_request_duration_seconds_bucket{model="m",le="0.25"} 0',
      'flotilla_request_duration_seconds_bucket{model="m",le="0.5"} 2',
      'flotilla_request_duration_seconds_sum{model="m"} 1',
      'flotilla_tries_total{model="m",outcome="unreachable"} 1',
      'flotilla_tries_total{model="m",outcome="served"} 1',
      'flotilla_ready_replicas{model="m"} 0',
      'flotilla_requests_waiting{model="m"} 3',
    ]),
  )
  expect(metrics.text()).not.toContain('made up')
})
