import { MODEL_HEADER, replicaPath } from '../../api/data-port.ts'
import { hostAndPort } from '../../platform/address.ts'
import type { PooledAddress } from '../../http/upstream/connection-pool.ts'
import { instead } from '../../http/upstream/forward-headers.ts'
import type { ClientTls, UpstreamTls } from '../../platform/tls/client-tls.ts'
import type { LiveRoute } from './routing-table.ts'

export interface ReplicaAt extends PooledAddress {
  /** The prefix of the path of every request to it. */
  path: string
  /** The headers that the node's data port requires; and the same as lines of a head. */
  headers: Record<string, string>
  lines: string
  /** The client and the expected certificate, when the data port is encrypted. */
  tls: UpstreamTls | undefined
}

/** A route object never changes: a change in the table makes a new one. */
const known = new WeakMap<LiveRoute, ReplicaAt>()

/** Where a replica is reached. Undefined when the node's address is invalid. */
export function replicaAt(route: LiveRoute, client: ClientTls): ReplicaAt | undefined {
  const found = known.get(route)
  if (found) return found
  const made = find(route, client)
  if (made) known.set(route, made)
  return made
}

/** An error that counts as a failed connection: nothing was sent. */
export function noAddress({ address }: LiveRoute): Error {
  return Object.assign(new Error(`its node has an invalid address: "${address}"`), { syscall: 'connect' })
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
