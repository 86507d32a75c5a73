import type { IncomingMessage, RequestOptions } from 'node:http'
import { hostAndPort, type Address } from '../../platform/address.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { AppError, messageOf } from '../../platform/errors.ts'
import { get } from '../../http/server/node-http.ts'
import type { NodeRow } from '../../store/nouns/nodes.ts'
import { controlTls } from '../joining/cluster-ca.ts'
import { dataKeyOf } from './data-key.ts'

export interface DataPortDeps {
  clock: Clock
  clusterSecret: string
}

/** Until the head of the answer has arrived; the body takes as long as it takes. */
const HEAD_WITHIN_MS = 10_000

/**
 * Asks a node at its data port, as gateways do. Resolves with the head of its answer, whatever its status; the body is
 * for the caller to read or to destroy. Aborting the signal cuts the connection, also later.
 */
export function askDataPort(
  { clock, clusterSecret }: DataPortDeps,
  node: Pick<NodeRow, 'id' | 'name' | 'address' | 'tls_fingerprint'>,
  path: string,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const away = (why: string, cause?: unknown, details: Record<string, unknown> = {}): AppError =>
    new AppError('bad_gateway', `${node.name} cannot be reached at ${node.address}: ${why}.`, { cause, details })
  const address = hostAndPort(node.address)
  if (!address) return Promise.reject(away('that is no address'))
  const headers = { authorization: `Bearer ${dataKeyOf(clusterSecret, node.id)}` }
  return new Promise((resolve, reject) => {
    const at = { ...address, fingerprint: node.tls_fingerprint }
    const outgoing = get({ path, headers, signal, ...dataPortConnection(clusterSecret, at) })
    const cancel = clock.after(HEAD_WITHIN_MS, () =>
      outgoing.destroy(new Error(`no answer within ${HEAD_WITHIN_MS / 1000} s`)),
    )
    // It stays: a connection that is cut later is told by the answer, not here.
    outgoing.on('error', (error) => {
      cancel()
      reject(away(messageOf(error), error))
    })
    outgoing.once('response', (answer) => {
      cancel()
      if (answer.statusCode !== 401 && answer.statusCode !== 403) return resolve(answer)
      answer.destroy()
      reject(away("it refuses this cluster's key, so another program may listen there", undefined, { key: 'refused' }))
    })
  })
}

/** A new connection to a data port: TLS when the port has a certificate, and only to a peer that shows that one. */
export function dataPortConnection(
  clusterSecret: string,
  { fingerprint, host, port }: Address & { fingerprint: string | null },
): RequestOptions {
  if (fingerprint === null) return { host, port, agent: false }
  const createConnection = () => controlTls(clusterSecret).connect({ host, port, fingerprint })
  return { host, port, createConnection }
}
