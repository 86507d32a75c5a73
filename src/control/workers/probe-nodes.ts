import { REFUSAL_HEADER, replicaPath } from '../../api/data-port.ts'
import { hostAndPort } from '../../platform/address.ts'
import { get } from '../../http/server/node-http.ts'
import type { Sql } from '../../store/sql.ts'
import type { LivenessLimits } from '../../core/nodes/liveness.ts'
import { listSilentReplicas, type SilentReplica } from '../../store/nouns/nodes.ts'
import { dataKeyOf } from './data-key.ts'
import { dataPortConnection } from './data-port.ts'

const PROBE_TIMEOUT_MS = 2000
/** More silent nodes than this at once are a mass disappearance, in which replicas are not given up. */
const MOST_PROBES = 64

/**
 * Which of the nodes that are about to be judged offline still answer requests. Their heartbeats are lost on the way, but
 * their replicas serve and must not be given up.
 */
export async function findAnswering(
  sql: Sql,
  limits: LivenessLimits,
  clusterSecret: string,
  probe: ProbeReplica = answersRequests,
): Promise<string[]> {
  const silent = await listSilentReplicas(sql, limits.offlineAfterMs)
  const answers = await Promise.all(silent.slice(0, MOST_PROBES).map((replica) => probe(replica, clusterSecret)))
  return silent.filter((_, i) => answers[i]).map(({ nodeId }) => nodeId)
}

/** Whether a replica answers, and with it its node. Never rejects. */
export type ProbeReplica = (replica: SilentReplica, clusterSecret: string) => Promise<boolean>

/** Any answer of the engine will do, whether it knows the path or not: only the right replica, alive, gives one. */
function answersRequests(replica: SilentReplica, clusterSecret: string): Promise<boolean> {
  const address = hostAndPort(replica.address)
  if (!address) return Promise.resolve(false)
  const headers = { authorization: `Bearer ${dataKeyOf(clusterSecret, replica.nodeId)}` }
  const path = `${replicaPath(replica.id, replica.generation)}/health`
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS)
    const at = { ...address, fingerprint: replica.tls_fingerprint }
    const probe = get({ path, headers, signal, ...dataPortConnection(clusterSecret, at) }, (answer) => {
      answer.resume()
      resolve(!(REFUSAL_HEADER in answer.headers))
    })
    probe.once('error', () => resolve(false))
  })
}
