import type { Cluster } from '../cluster.ts'
import { LOAD_WAIT_MS } from '../limits.ts'
import type { Check } from './check.ts'

/** The wait for a model, and the longest answer. */
const ANSWERED_WITHIN_MS = LOAD_WAIT_MS + 60_000

/** Invariant 5: in-flight returns to 0 when traffic stops, whoever crashed; looked at once per event of the quiet time. */
export function inFlightCheck(quietSinceMs: () => number | undefined): Check {
  return {
    name: 'in-flight (invariant 5)',
    look(cluster) {
      const sinceMs = quietSinceMs()
      if (sinceMs === undefined || cluster.ground.queue.nowMs < sinceMs + ANSWERED_WITHIN_MS) return undefined
      return atGateways(cluster) ?? atWorkers(cluster)
    },
  }
}

function atGateways({ gateways }: Cluster): string | undefined {
  for (const { name, table, used } of gateways) {
    for (const route of used.values()) {
      const { here } = table.loadOf(route)
      if (here !== 0) return `${name} still counts ${here} requests at ${route.replicaId}`
    }
  }
  return undefined
}

function atWorkers({ machines }: Cluster): string | undefined {
  for (const { id, worker } of machines) {
    for (const { spec, inFlight } of worker?.supervisor.all() ?? []) {
      if (inFlight !== 0) return `${id} still counts ${inFlight} requests at ${spec.id}`
    }
  }
  return undefined
}
