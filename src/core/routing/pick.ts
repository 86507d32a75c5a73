import type { Route } from './table.ts'

export interface RouteLoad {
  inFlight: number
  lastUsedMs: number
}

/** The route with the fewest requests in flight; among equals the one that was used longest ago, then the lowest id. */
export function pick(routes: readonly Route[], loadOf: (route: Route) => RouteLoad): Route | undefined {
  let best: Route | undefined
  let bestLoad: RouteLoad = { inFlight: 0, lastUsedMs: 0 }
  for (const route of routes) {
    const load = loadOf(route)
    if (!best || isBetter(route, load, best, bestLoad)) {
      best = route
      bestLoad = load
    }
  }
  return best
}

function isBetter(route: Route, load: RouteLoad, best: Route, bestLoad: RouteLoad): boolean {
  if (load.inFlight !== bestLoad.inFlight) return load.inFlight < bestLoad.inFlight
  if (load.lastUsedMs !== bestLoad.lastUsedMs) return load.lastUsedMs < bestLoad.lastUsedMs
  return route.replicaId < best.replicaId
}
