import type { IncomingMessage } from 'node:http'
import type { Registered } from '../../api/admin/schemas.ts'
import type { NodeRow } from '../../store/nouns/nodes.ts'
import type { AdminDeps } from '../api/deps.ts'
import { clusterCa } from './cluster-ca.ts'
import { dataKeyOf } from '../workers/data-key.ts'

export type CredentialDeps = Pick<
  AdminDeps,
  'clusterSecret' | 'clusterId' | 'heartbeatPeriodMs' | 'credentialsFor' | 'onNodeApproved'
>

/** What a node learns about itself. A pending one learns that it is pending, and nothing it could use. */
export async function registeredAs(
  deps: CredentialDeps,
  node: Pick<NodeRow, 'id' | 'name' | 'public_key' | 'approved_at'>,
  request: IncomingMessage,
): Promise<Registered> {
  const { id, name, public_key: publicKey } = node
  const cluster = { cluster_id: deps.clusterId }
  if (node.approved_at === null) return { node_id: id, name, approved: false, credentials: null, ...cluster }
  await deps.onNodeApproved(publicKey, id)
  const credentials = {
    ...(await deps.credentialsFor(id, publicKey, request)),
    data_key: dataKeyOf(deps.clusterSecret, id),
    data_ca: clusterCa(deps.clusterSecret).certificate,
    heartbeat_period_ms: deps.heartbeatPeriodMs,
  }
  return { node_id: id, name, approved: true, credentials, ...cluster }
}
