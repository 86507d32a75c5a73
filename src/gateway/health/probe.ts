import { connect } from 'node:net'
import { REFUSAL_HEADER, REPLICAS_PREFIX } from '../../api/data-port.ts'
import { messageOf } from '../../platform/errors.ts'
import { request as httpRequest } from '../../http/server/node-http.ts'
import type { ClientTls } from '../../platform/tls/client-tls.ts'
import { replicaAt } from '../table/replica-at.ts'
import type { LiveRoute } from '../table/routing-table.ts'

/**
 * `silent`: the replica accepted the connection and did not answer; it may be busy. `dead`: it cannot be connected to, or
 * its node refused in its place, with `status`.
 */
export type Verdict =
  | { state: 'alive' }
  | { state: 'silent'; why: string }
  | { state: 'dead'; why: string; status?: number }

export type Probe = (route: LiveRoute) => Promise<Verdict>

const ANSWER_WITHIN_MS = 2000

/**
 * Probes a replica. It asks for the list of models, which is cheap for every engine; an engine without one answers an error,
 * which is as good: any answer of the engine itself means that it is alive.
 */
export async function probe(route: LiveRoute, client: ClientTls): Promise<Verdict> {
  const at = replicaAt(route, client)
  const answer = await ask(route, client, `${at?.path}/v1/models`)
  if (!('isRefusal' in answer)) return answer
  const { status, isRefusal } = answer
  return isRefusal ? { state: 'dead', why: `refused with status ${status}`, status } : { state: 'alive' }
}

/**
 * Why the node of a replica does not answer; undefined when it does. The worker answers by itself and at once, so this says
 * nothing about its engines, which may be busy.
 */
export async function probeNode(route: LiveRoute, client: ClientTls): Promise<string | undefined> {
  const answer = await ask(route, client, REPLICAS_PREFIX)
  return 'isRefusal' in answer ? undefined : answer.why
}

type Answer = { status: number; isRefusal: boolean } | Exclude<Verdict, { state: 'alive' }>

/** Uses a new connection, because a kept one may be dead unnoticed. */
function ask(route: LiveRoute, client: ClientTls, path: string): Promise<Answer> {
  const at = replicaAt(route, client)
  if (!at) return Promise.resolve({ state: 'dead', why: `"${route.address}" is not a valid address` })
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
