/** What gateways and workers agree on besides HTTP itself. */

/** Set by a worker on answers of its own: the request did not reach an engine. */
export const REFUSAL_HEADER = 'x-flotilla-refusal'

/** Where a worker's data port serves one replica. */
export function replicaPath(replicaId: string, generation: number): string {
  return `/replicas/${replicaId}/${generation}`
}

/** Names the model that a gateway means, percent-encoded: a replica of another model refuses. */
export const MODEL_HEADER = 'x-flotilla-model'
