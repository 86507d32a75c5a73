import type { RoutePolicy } from '../types.ts'
import { inFlightOf, type Candidate } from './load-order.ts'
import type { ModelRoutes } from './model-routes.ts'
import type { Route } from './table.ts'

/** What a policy may look at of a request. */
export interface Ask {
  /** Requests with the same one belong together. */
  sessionKey?: string | undefined
}

type IsOut<R> = (route: R) => boolean

/** A session stays where it is until its replica has this many times the average in flight. */
const SESSION_LOAD_FACTOR = 1.25

/** How each policy chooses. Another one is another line here, and its name in `routePolicies`. */
const policies: Record<
  RoutePolicy,
  <R extends Route>(routes: ModelRoutes<R>, ask: Ask, isOut: IsOut<R>) => Candidate<R> | undefined
> = { least_loaded: leastLoaded, round_robin: roundRobin, session }

/** The route that the next request goes to. Only reads: what counts is that a request begins. */
export function choose<R extends Route>(
  policy: RoutePolicy,
  routes: ModelRoutes<R>,
  ask: Ask,
  isOut: IsOut<R>,
): Candidate<R> | undefined {
  // The default policy skips the lookup by name, which takes as long as the choice itself.
  return policy === 'least_loaded' ? leastLoaded(routes, ask, isOut) : policies[policy](routes, ask, isOut)
}

function leastLoaded<R extends Route>(routes: ModelRoutes<R>, _ask: Ask, isOut: IsOut<R>): Candidate<R> | undefined {
  return routes.byLoad.first(isOut)
}

/** The next on the ring after the last one used, so that a replica that comes or goes changes no other one's turn. */
function roundRobin<R extends Route>(routes: ModelRoutes<R>, _ask: Ask, isOut: IsOut<R>): Candidate<R> | undefined {
  for (const candidate of routes.ring.after(routes.lastUsed)) if (!isOut(candidate.route)) return candidate
  return undefined
}

/** Consistent hashing with bounded load: a session's own replica, or the next that has room. */
function session<R extends Route>(routes: ModelRoutes<R>, ask: Ask, isOut: IsOut<R>): Candidate<R> | undefined {
  if (ask.sessionKey === undefined) return leastLoaded(routes, ask, isOut)
  // The average is that after this request, so that there is always one with room, unless those are all out.
  const bound = Math.ceil((SESSION_LOAD_FACTOR * (routes.inFlight + 1)) / routes.size)
  for (const candidate of routes.ring.preferences(ask.sessionKey)) {
    if (inFlightOf(candidate) < bound && !isOut(candidate.route)) return candidate
  }
  return leastLoaded(routes, ask, isOut)
}
