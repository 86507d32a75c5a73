import type { Metrics } from '../platform/metrics/metrics.ts'
import { SHORT_BOUNDS, timed } from '../platform/metrics/call-times.ts'
import type { Bus } from './bus.ts'

/** The same bus, with the time that its answers take counted, and whether it is there. */
export function measuredBus(bus: Bus, metrics: Metrics, role: string): Bus {
  const duration = metrics.histogram(
    'flotilla_bus_request_duration_seconds',
    'Duration of requests on the bus, by kind and outcome.',
    ['role', 'subject', 'outcome'],
    SHORT_BOUNDS,
  )
  const published = metrics.counter('flotilla_bus_messages_total', 'Messages published on the bus.', [
    'role',
    'subject',
  ])
  metrics.gauge('flotilla_bus_connected', '1 while the bus is there.', ['role'], () => [
    { labels: [role], value: bus.isConnected() ? 1 : 0 },
  ])
  return {
    publish(name, message, nodeId) {
      published.cell(role, name).value += 1
      bus.publish(name, message, nodeId)
    },
    subscribe: (name, handler, nodeId) => bus.subscribe(name, handler, nodeId),
    request: (name, message, options) =>
      timed(
        (isOk) => duration.cell(role, name, isOk ? 'ok' : 'failed'),
        () => bus.request(name, message, options),
      ),
    respond: (name, handler, nodeId) => bus.respond(name, handler, nodeId),
    onReconnect: (callback) => bus.onReconnect(callback),
    isConnected: () => bus.isConnected(),
    isRefused: () => bus.isRefused(),
    dispose: () => bus.dispose(),
  }
}
