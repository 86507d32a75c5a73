import { measuredBus } from '../bus/measured-bus.ts'
import type { Bus } from '../bus/bus.ts'
import { clusterGauges } from '../control/cluster-gauges.ts'
import { controlMetrics } from '../control/control-metrics.ts'
import { gatewayMetrics } from '../gateway/gateway-metrics.ts'
import { LiveTable } from '../gateway/routing-table.ts'
import { Metrics, type Definition } from '../platform/metrics.ts'
import { spanCounter } from '../platform/tracing/otlp-exporter.ts'
import { processMetrics } from '../platform/process-metrics.ts'
import type { Database } from '../store/database.ts'
import { measuredDatabase } from '../store/measured-database.ts'
import { workerMetrics } from '../worker/worker-metrics.ts'
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
