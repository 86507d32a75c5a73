import { Metrics } from '../../platform/metrics/metrics.ts'
import { processMetrics } from '../../platform/metrics/process-metrics.ts'
import { version } from '../../platform/version.ts'

/** The numbers of this process, whichever roles count into them. */
export function roleMetrics(role: 'up' | 'frontend' | 'gateway' | 'worker'): Metrics {
  const metrics = new Metrics()
  processMetrics(metrics, { version, role })
  return metrics
}
