import { measuredBus } from '../../src/bus/measured-bus.ts'
import type { Bus } from '../../src/bus/bus.ts'
import { clusterGauges } from '../../src/control/metrics/cluster-gauges.ts'
import { controlMetrics } from '../../src/control/metrics/control-metrics.ts'
import { gatewayMetrics } from '../../src/gateway/records/gateway-metrics.ts'
import { LiveTable } from '../../src/gateway/table/routing-table.ts'
import { Metrics, type Definition } from '../../src/platform/metrics/metrics.ts'
import { spanCounter } from '../../src/platform/tracing/otlp-exporter.ts'
import { processMetrics } from '../../src/platform/metrics/process-metrics.ts'
import type { Database } from '../../src/store/sql.ts'
import { measuredDatabase } from '../../src/store/driver/measured-database.ts'
import { workerMetrics } from '../../src/worker/report/worker-metrics.ts'
import { VirtualClock } from './virtual-clock.ts'

export type Counting = 'every process' | 'gateways' | 'frontends' | 'workers'

/** All metrics that the program has, as its roles define them, by who shows them. */
export function allMetrics(): Record<Counting, Definition[]> {
  const define = (with_: (metrics: Metrics) => void): Definition[] => {
    const metrics = new Metrics()
    with_(metrics)
    return [...metrics.families()]
  }
  return {
    'every process': define((metrics) => processMetrics(metrics, { version: '', role: '' })),
    gateways: define((metrics) => {
      const table = new LiveTable()
      gatewayMetrics(metrics, { table, silentMs: () => undefined, isStale: () => false, waitingFor: () => 0 })
      measuredBus({ isConnected: () => false } as Bus, metrics, 'gateway')
      spanCounter(metrics)
    }),
    frontends: define((metrics) => {
      const counts = controlMetrics(metrics)
      const clock = new VirtualClock(0)
      void counts.loop({ periodMs: 1000, clock, turn: async () => {}, onError: () => {} }).dispose()
      clusterGauges(metrics, { epoch: () => undefined, after: () => undefined, heardMsAgo: () => undefined })
      measuredDatabase({} as Database, metrics)
    }),
    workers: define((metrics) => {
      workerMetrics(metrics, { problem: () => undefined, replicas: () => [], hardware: () => undefined })
    }),
  }
}
