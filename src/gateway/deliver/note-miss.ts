import { isUnsent } from '../../http/upstream/is-unsent.ts'
import type { Logger } from '../../platform/run/log.ts'
import type { Forwarded } from '../../http/proxy.ts'
import type { Try } from '../records/decision.ts'
import type { Liveness } from '../health/liveness.ts'
import type { LiveRoute } from '../table/routing-table.ts'

/** A replica that refused a request or could not be reached. */
export interface Miss {
  route: LiveRoute
  result: Extract<Forwarded, { outcome: 'refused' | 'unreachable' }>
  ms: number
}

/** Records a miss in the tries and in `Liveness`, so that the next request considers it. `ids` go into the log. */
export function noteMiss(
  { liveness, log }: { liveness: Pick<Liveness, 'failed' | 'refused'>; log: Logger },
  tries: Try[],
  { route, result, ms }: Miss,
  ids: Readonly<Record<string, string>> = {},
): void {
  const { outcome } = result
  const where = { ...ids, replica: route.replicaId, node: route.nodeName }
  if (outcome === 'refused') {
    const { status } = result
    // A worker that has lost its engine (502) does not know how much the engine had read.
    tries.push({ route, outcome, status, error: null, ms, mayHaveReached: status === 502 })
    liveness.refused(route, status)
    log.debug({ ...where, status }, 'gateway: a replica refused')
  } else {
    const { message } = result.error
    tries.push({ route, outcome, status: null, error: message, ms, mayHaveReached: !isUnsent(result.error) })
    liveness.failed(route, message)
    log.debug({ ...where, error: message }, 'gateway: a replica cannot be reached')
  }
}
