import { expect, test } from 'vitest'
import { prometheusText } from '../../platform/metrics/exposition.ts'
import { Metrics } from '../../platform/metrics/metrics.ts'
import type { Decision, Try } from './decision.ts'
import { gatewayMetrics } from './gateway-metrics.ts'
import { LiveTable, type LiveRoute } from '../table/routing-table.ts'

const aDecision = (fields: Partial<Decision>): Decision =>
  ({
    model: 'm',
    policy: 'least_loaded',
    status: 200,
    atMs: 1000,
    firstByteMs: 1200,
    endedMs: 1500,
    isStream: false,
    queuedMs: 0,
    loadWaitMs: 0,
    tries: [],
    ...fields,
  }) as unknown as Decision

const aRoute = (replicaId: string): LiveRoute =>
  ({ replicaId, modelName: 'm', nodeName: `node ${replicaId}`, generation: 1 }) as LiveRoute
const aTry = (replicaId: string, outcome: Try['outcome']): Try => ({ route: aRoute(replicaId), outcome }) as Try

test('requests are counted by model, status and tries; models that there are not are counted together', () => {
  const table = new LiveTable()
  const m = { name: 'm', engine: 'sim', created_at: 1, route_policy: 'least_loaded', state: 'ready' } as const
  table.replace({ feed: 'f', version: 1, models: [m], routes: [], keys: [] })
  const metrics = new Metrics()
  const { ended: record, ejected } = gatewayMetrics(metrics, {
    table,
    silentMs: () => undefined,
    isStale: () => false,
    waitingFor: () => 3,
  })
  record(aDecision({ tries: [aTry('a', 'unreachable'), aTry('b', 'served')], isStream: true }))
  record(aDecision({ status: 503, queuedMs: 400, loadWaitMs: 20_000 }))
  ejected(aRoute('a'))
  for (const model of ['made up', 'also made up', null]) record(aDecision({ model, status: 404 }))
  const lines = prometheusText(metrics).split('\n')
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
      'flotilla_retries_total{model="m"} 1',
      'flotilla_picks_total{policy="least_loaded"} 2',
      'flotilla_ejections_total{model="m",node="node a"} 1',
      'flotilla_replica_requests_total{model="m",node="node a",replica="a"} 1',
      'flotilla_time_to_first_token_seconds_bucket{model="m",le="0.1"} 0',
      'flotilla_time_to_first_token_seconds_bucket{model="m",le="0.25"} 1',
      'flotilla_time_to_first_token_seconds_count{model="m"} 1',
      'flotilla_queue_wait_seconds_sum{model="m"} 0.4',
      'flotilla_load_wait_seconds_sum{model="m"} 20',
      'flotilla_ready_replicas{model="m"} 0',
      'flotilla_requests_waiting{model="m"} 3',
    ]),
  )
  expect(prometheusText(metrics)).not.toContain('made up')
})

test('a replica that has left the table is shown once more and then forgotten', () => {
  const table = new LiveTable()
  const metrics = new Metrics()
  const facts = { table, silentMs: () => undefined, isStale: () => false, waitingFor: () => 0 }
  const { ended } = gatewayMetrics(metrics, facts)
  ended(aDecision({ tries: [aTry('a', 'served')] }))
  prometheusText(metrics)
  expect(prometheusText(metrics)).toContain('flotilla_replica_requests_total{model="m",node="node a",replica="a"} 1')
  expect(prometheusText(metrics)).not.toContain('replica="a"')
  ended(aDecision({ tries: [aTry('a', 'served')] }))
  expect(prometheusText(metrics)).toContain('replica="a"} 1')
})
