import { MODEL_HEADER, replicaPath } from '../../api/data-port.ts'
import { hostAndPort } from '../../platform/address.ts'
import type { PooledAddress } from '../../http/upstream/connection-pool.ts'
import { instead } from '../../http/upstream/forward-headers.ts'
import type { ClientTls, UpstreamTls } from '../../platform/tls/client-tls.ts'
import type { LiveRoute } from './routing-table.ts'

export interface ReplicaAt extends PooledAddress {
  /** What the path of every request to it begins with. */
  path: string
  /** What its node's data port asks of a gateway; and the same as lines of a head. */
  headers: Record<string, string>
  lines: string
  /** How its node is known, when that is spoken to in TLS. */
  tls: UpstreamTls | undefined
}

/** A route never changes: what is new in the table is a new one. */
const known = new WeakMap<LiveRoute, ReplicaAt>()

/** Where a replica is reached. Undefined when the node's address is none. */
export function replicaAt(route: LiveRoute, client: ClientTls): ReplicaAt | undefined {
  const found = known.get(route)
  if (found) return found
  const made = find(route, client)
  if (made) known.set(route, made)
  return made
}

/** Nothing was sent, as where nothing listens. */
export function noAddress({ address }: LiveRoute): Error {
  return Object.assign(new Error(`its node has the address "${address}", which is none`), { syscall: 'connect' })
}

function find(route: LiveRoute, client: ClientTls): ReplicaAt | undefined {
  const { replicaId, generation, modelName, address, dataKey, tlsFingerprint: fingerprint } = route
  const at = hostAndPort(address)
  if (!at) return undefined
  const model = encodeURIComponent(modelName)
  const headers = { host: address, authorization: `Bearer ${dataKey}`, [MODEL_HEADER]: model }
  const tls = fingerprint === undefined ? undefined : { client, fingerprint }
  const cableLines = instead({ host: address, authorization: headers.authorization }).lines
  return { ...at, path: replicaPath(replicaId, generation), headers, lines: instead(headers).lines, cableLines, tls }
}
