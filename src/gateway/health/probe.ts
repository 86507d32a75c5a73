import { connect } from 'node:net'
import { REFUSAL_HEADER, REPLICAS_PREFIX } from '../../api/data-port.ts'
import { messageOf } from '../../platform/errors.ts'
import { request as httpRequest } from '../../http/server/node-http.ts'
import type { ClientTls } from '../../platform/tls/client-tls.ts'
import { replicaAt } from '../table/replica-at.ts'
import type { LiveRoute } from '../table/routing-table.ts'

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
 * list says so, which is as good: any answer of the engine's own means that it lives.
 */
export async function probe(route: LiveRoute, client: ClientTls): Promise<Verdict> {
  const at = replicaAt(route, client)
  const answer = await ask(route, client, `${at?.path}/v1/models`)
  if (!('isRefusal' in answer)) return answer
  const { status, isRefusal } = answer
  return isRefusal ? { state: 'dead', why: `refused with status ${status}`, status } : { state: 'alive' }
}

/**
 * Why the node of a replica does not answer, if it does not. Its worker answers this by itself, so it says nothing of
 * engines, which may be busy, and says it at once: nothing holds up a worker for long.
 */
export async function probeNode(route: LiveRoute, client: ClientTls): Promise<string | undefined> {
  const answer = await ask(route, client, REPLICAS_PREFIX)
  return 'isRefusal' in answer ? undefined : answer.why
}

type Answer = { status: number; isRefusal: boolean } | Exclude<Verdict, { state: 'alive' }>

/** The connection is a new one, because a kept one may be dead without knowing. */
function ask(route: LiveRoute, client: ClientTls, path: string): Promise<Answer> {
  const at = replicaAt(route, client)
  if (!at) return Promise.resolve({ state: 'dead', why: `"${route.address}" is no address` })
  const { host, port, headers, tls } = at
  return new Promise((resolve) => {
    const createConnection = () =>
      tls ? client.connect({ host, port, fingerprint: tls.fingerprint }) : connect({ host, port, noDelay: true })
    const outgoing = httpRequest({ host, port, path, headers, createConnection })
    let isConnected = false
    const settle = (answer: Answer): void => {
      clearTimeout(late)
      resolve(answer)
      outgoing.destroy()
    }
    const late = setTimeout(() => {
      if (isConnected) settle({ state: 'silent', why: `no answer within ${ANSWER_WITHIN_MS / 1000} s` })
      else settle({ state: 'dead', why: `no connection within ${ANSWER_WITHIN_MS / 1000} s` })
    }, ANSWER_WITHIN_MS)
    outgoing.once('socket', (socket) => socket.once(tls ? 'secureConnect' : 'connect', () => (isConnected = true)))
    outgoing.on('error', (error) => settle({ state: 'dead', why: messageOf(error) }))
    outgoing.once('response', ({ statusCode: status = 502, headers: answered }) => {
      settle({ status, isRefusal: REFUSAL_HEADER in answered })
    })
    outgoing.end()
  })
}
