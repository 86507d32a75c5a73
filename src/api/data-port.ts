/** What gateways and workers agree on besides HTTP itself. */

/** Set by a worker on answers of its own: the request did not reach an engine. */
export const REFUSAL_HEADER = 'x-flotilla-refusal'

/** The prefix of every replica's path. The worker itself answers the bare prefix, which shows that it is reachable. */
export const REPLICAS_PREFIX = '/replicas/'

/** Where a worker's data port serves one replica. */
export function replicaPath(replicaId: string, generation: number): string {
  return `${REPLICAS_PREFIX}${replicaId}/${generation}`
}

/** Names the model that a gateway means, percent-encoded: a replica of another model refuses. */
export const MODEL_HEADER = 'x-flotilla-model'

/** Where a worker's data port says, in `RUN_HEADER`, which run of the worker it is. */
export const RUN_PATH = '/run'
