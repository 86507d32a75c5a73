import { Metrics } from './platform/metrics.ts'
import { processMetrics } from './platform/process-metrics.ts'
import { version } from './platform/version.ts'

/** The numbers of this process, whichever roles count into them. */
export function roleMetrics(role: 'up' | 'frontend' | 'gateway' | 'worker'): Metrics {
  const metrics = new Metrics()
  processMetrics(metrics, { version, role })
  return metrics
}
