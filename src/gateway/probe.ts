import { connect } from 'node:net'
import { REFUSAL_HEADER } from '../api/data-port.ts'
import { messageOf } from '../platform/errors.ts'
import { request as httpRequest } from '../platform/node-http.ts'
import type { ClientTls } from '../platform/tls/client-tls.ts'
import { replicaAt } from './replica-at.ts'
import type { LiveRoute } from './routing-table.ts'

/**
 * `silent` took the connection and said nothing: it may be busy. `dead` cannot be connected to, or its node refuses in its
 * stead; `status` is that of the refusal.
 */
export type Verdict =
  | { state: 'alive' }
  | { state: 'silent'; why: string }
  | { state: 'dead'; why: string; status?: number }

export type Probe = (route: LiveRoute) => Promise<Verdict>

const ANSWER_WITHIN_MS = 2000

/**
 * Asks a replica whether it is there. The list of models costs no engine more than a few bytes, and one that has no such
 * list says so, which is as good: any answer of the engine's own means that it lives. The connection is a new one, because
 * a kept one may be dead without knowing.
 */
export function probe(route: LiveRoute, client: ClientTls): Promise<Verdict> {
  const at = replicaAt(route, client)
  if (!at) return Promise.resolve({ state: 'dead', why: `"${route.address}" is no address` })
  const { host, port, path, headers, tls } = at
  return new Promise((resolve) => {
    const createConnection = () =>
      tls ? client.connect({ host, port, fingerprint: tls.fingerprint }) : connect({ host, port, noDelay: true })
    const outgoing = httpRequest({ host, port, path: `${path}/v1/models`, headers, createConnection })
    let isConnected = false
    const settle = (verdict: Verdict): void => {
      clearTimeout(late)
      resolve(verdict)
      outgoing.destroy()
    }
    const late = setTimeout(() => {
      if (isConnected) settle({ state: 'silent', why: `no answer within ${ANSWER_WITHIN_MS / 1000} s` })
      else settle({ state: 'dead', why: `no connection within ${ANSWER_WITHIN_MS / 1000} s` })
    }, ANSWER_WITHIN_MS)
    outgoing.once('socket', (socket) => socket.once(tls ? 'secureConnect' : 'connect', () => (isConnected = true)))
    outgoing.on('error', (error) => settle({ state: 'dead', why: messageOf(error) }))
    outgoing.once('response', (answer) => {
      const status = answer.statusCode ?? 502
      if (REFUSAL_HEADER in answer.headers) settle({ state: 'dead', why: `refused with status ${status}`, status })
      else settle({ state: 'alive' })
    })
    outgoing.end()
  })
}
