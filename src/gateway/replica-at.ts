import { MODEL_HEADER, replicaPath } from '../api/data-port.ts'
import { hostAndPort, type Address } from '../platform/address.ts'
import type { LiveRoute } from './routing-table.ts'

export interface ReplicaAt extends Address {
  /** What the path of every request to it begins with. */
  path: string
  headers: { host: string; authorization: string; [MODEL_HEADER]: string }
}

/** A route never changes: what is new in the table is a new one. */
const known = new WeakMap<LiveRoute, ReplicaAt>()

/** Where a replica is reached, and what its node's data port asks of us. Undefined when the node's address is none. */
export function replicaAt(route: LiveRoute): ReplicaAt | undefined {
  const found = known.get(route) ?? find(route)
  if (found) known.set(route, found)
  return found
}

function find({ replicaId, generation, modelName, address, dataKey }: LiveRoute): ReplicaAt | undefined {
  const at = hostAndPort(address)
  if (!at) return undefined
  return {
    ...at,
    path: replicaPath(replicaId, generation),
    headers: { host: address, authorization: `Bearer ${dataKey}`, [MODEL_HEADER]: encodeURIComponent(modelName) },
  }
}
