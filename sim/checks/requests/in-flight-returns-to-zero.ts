import type { Traffic } from '../../clients/traffic.ts'
import type { Cluster } from '../../cluster.ts'
import type { Check } from '../check.ts'

/** A client that has gone is forgotten, and other gateways have told that they have nothing. */
const WITHIN_MS = 45_000

/** Invariant 5: what is in flight returns to 0 when nobody asks, whoever crashed; at gateways and at workers. */
export function inFlightReturnsToZero(cluster: Cluster, traffic: Traffic): Check {
  const { queue, health } = cluster
  let busyMs = queue.nowMs

  const find = (): string | undefined => {
    for (const [name, { table, process }] of cluster.gatewaysUp) {
      if (process.isFrozen) continue
      for (const [id, count] of Object.entries(table.ownCounts())) {
        if (count !== 0) return `${name} counts ${count} requests in flight at ${id}, and nobody asks`
      }
    }
    for (const { name, worker } of cluster.everyMachine()) {
      for (const { spec, inFlight } of worker?.supervisor?.all() ?? []) {
        if (inFlight !== 0) return `${name} counts ${inFlight} requests in flight at ${spec.id}, and nobody asks`
      }
    }
    for (const [name, { table, process }] of cluster.gatewaysUp) {
      if (process.isFrozen) continue
      for (const { name: model } of table.models()) {
        for (const route of table.routesOf(model)) {
          const { elsewhere } = table.loadOf(route)
          if (elsewhere !== 0) return `${name} believes that others have ${elsewhere} in flight at ${route.replicaId}`
        }
      }
    }
    return undefined
  }

  return {
    name: 'in flight (invariant 5)',
    onEnded() {
      busyMs = queue.nowMs
      return undefined
    },
    look() {
      const names = [...cluster.gatewayNames, ...cluster.machines.map(({ name }) => name)]
      if (traffic.open.size > 0) busyMs = queue.nowMs
      const sinceMs = Math.max(busyMs, health.calmSinceMs(...names))
      return queue.nowMs - sinceMs > WITHIN_MS ? find() : undefined
    },
    atEnd: find,
  }
}
