import type { IncomingMessage } from 'node:http'
import { hostAndPort } from '../platform/address.ts'
import type { Clock } from '../platform/clock.ts'
import { AppError, messageOf } from '../platform/errors.ts'
import { get } from '../platform/node-http.ts'
import type { NodeRow } from '../store/nodes.ts'
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
  node: Pick<NodeRow, 'id' | 'name' | 'address'>,
  path: string,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const away = (why: string, cause?: unknown): AppError =>
    new AppError('bad_gateway', `${node.name} cannot be reached at ${node.address}: ${why}.`, { cause })
  const address = hostAndPort(node.address)
  if (!address) return Promise.reject(away('that is no address'))
  const headers = { authorization: `Bearer ${dataKeyOf(clusterSecret, node.id)}` }
  return new Promise((resolve, reject) => {
    const outgoing = get({ ...address, path, headers, agent: false, signal })
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
      reject(away("it refuses this cluster's key, so another program may listen there"))
    })
  })
}
