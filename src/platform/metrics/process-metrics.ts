import type { Metrics } from './metrics.ts'

/** Process metrics under the names that all Prometheus clients use. */
export function processMetrics(metrics: Metrics, { version, role }: { version: string; role: string }): void {
  metrics.gauge('flotilla_build_info', 'What runs here; always 1.', ['version', 'role', 'node_version'], () => [
    { labels: [version, role, process.versions.node], value: 1 },
  ])
  const startedS = Date.now() / 1000 - process.uptime()
  metrics.gauge('process_start_time_seconds', 'When the process began, in seconds since 1970.', [], () => [
    { labels: [], value: startedS },
  ])
  metrics.counted('process_cpu_seconds_total', 'Time that the process spent on processors.', [], () => {
    const { user, system } = process.cpuUsage()
    return [{ labels: [], value: (user + system) / 1e6 }]
  })
  metrics.gauge('process_resident_memory_bytes', 'Memory that the process holds.', [], () => [
    { labels: [], value: process.memoryUsage.rss() },
  ])
  metrics.gauge('nodejs_heap_used_bytes', 'Of it, what the objects of the program take.', [], () => [
    { labels: [], value: process.memoryUsage().heapUsed },
  ])
}
