import { Metrics } from '../../platform/metrics/metrics.ts'
import { processMetrics } from '../../platform/metrics/process-metrics.ts'
import { version } from '../../platform/version.ts'

/** The metrics of this process, shared by its roles. */
export function roleMetrics(role: 'up' | 'frontend' | 'gateway' | 'worker'): Metrics {
  const metrics = new Metrics()
  processMetrics(metrics, { version, role })
  return metrics
}
