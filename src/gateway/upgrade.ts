import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { REFUSAL_HEADER } from '../api/data-port.ts'
import { AppError } from '../platform/errors.ts'
import { pathOf, type UpgradeHandler } from '../platform/http.ts'
import type { Logger } from '../platform/log.ts'
import type { Forwarded } from '../platform/proxy.ts'
import { whenGone } from '../platform/socket-gone.ts'
import { Instead } from '../platform/pass-on.ts'
import { notForClients, notForSocketEngines } from '../platform/passed-headers.ts'
import { forwardUpgrade } from '../platform/upgrade-proxy.ts'
import type { ClientTls } from '../platform/tls/client-tls.ts'
import type { Caller } from './guard.ts'
import type { Liveness } from './liveness.ts'
import { NotServedError } from './not-served.ts'
import { modelInQuery, sessionInHeader } from './read-request.ts'
import { refuseDots } from './refuse-dots.ts'
import { replicaAt } from './replica-at.ts'
import { routeKey, type LiveRoute } from './routing-table.ts'
import { serveWhenReady, type Done, type ReadyDeps } from './serve-when-ready.ts'

export interface UpgradeDeps extends ReadyDeps {
  liveness: Pick<Liveness, 'whyOut' | 'failed' | 'refused' | 'contact'>
  /** Connects to data ports that are encrypted. */
  tls: ClientTls
  log: Logger
  /** Who asks; throws when nobody may ask like this. */
  allow: (request: IncomingMessage) => Caller
}

const MOST_TRIES = 3
const RETRY_AFTER_S = 2

/**
 * WebSockets under `/v1/`, such as `/v1/realtime?model=m`: to the replica that any other request would be sent to, where
 * they count as one for as long as they are open. What is said on them is between client and engine.
 */
export function upgradeHandler(deps: UpgradeDeps): UpgradeHandler {
  return async (request, socket, head) => {
    const path = pathOf(request)
    if (!path.startsWith('/v1/')) throw new AppError('not_found', `There is no WebSocket at ${path}.`)
    refuseDots(path)
    const caller = deps.allow(request)
    const model = modelInQuery(request)
    if (model === undefined) {
      const text = 'A WebSocket must say which model it is for: add ?model=<name> to the address.'
      throw new AppError('bad_request', text, { details: { param: 'model' } })
    }
    const gone = new AbortController()
    let stopLooking = whileWaiting(socket, gone)
    const ask = { model, caller, gone: gone.signal, waits: { loadWaitMs: 0, queuedMs: 0 } }
    try {
      await new Promise<void>((resolve, reject) => {
        const connect = (done: Done): void => {
          stopLooking()
          connectTo(deps, request, socket, head, model).then(
            () => done(),
            (error: unknown) => {
              stopLooking = whileWaiting(socket, gone)
              done(error)
            },
          )
        }
        serveWhenReady(deps, ask, connect, (error) => (error === undefined ? resolve() : reject(error)))
      })
    } finally {
      stopLooking()
    }
  }
}

/** Looks whether the client is still there. Only while nobody else reads what it says: two readers are in each other's way. */
function whileWaiting(socket: Socket, gone: AbortController): () => void {
  if (socket.destroyed || socket.readableEnded) gone.abort()
  return whenGone(socket, () => gone.abort())
}

/** To the best replica, or the next best, for as long as none has agreed. */
async function connectTo(
  { table, liveness, tls, clock, log }: UpgradeDeps,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
  model: string,
): Promise<void> {
  const tried = new Set<string>()
  /** Nodes that could not be reached: who is beside one is asked last. */
  const farNodes = new Set<string>()
  const ask = { sessionKey: sessionInHeader(request) }
  const isTried = (route: LiveRoute): boolean => tried.has(routeKey(route))
  const isOut = (route: LiveRoute): boolean => isTried(route) || liveness.whyOut(route) !== undefined
  const isFar = (route: LiveRoute): boolean => isOut(route) || farNodes.has(route.nodeId)
  while (tried.size < MOST_TRIES) {
    const route = table.pick(model, ask, isFar) ?? table.pick(model, ask, isOut) ?? table.pick(model, ask, isTried)
    if (!route) break
    tried.add(routeKey(route))
    const release = table.begin(route, clock.nowMs())
    const contact = liveness.contact(route)
    try {
      const result = await connectToRoute(request, socket, head, { route, tls }, () => contact.heard(clock.nowMs()))
      if (result.outcome === 'refused') liveness.refused(route, result.status)
      else if (result.outcome === 'unreachable') {
        liveness.failed(route, result.error.message)
        farNodes.add(route.nodeId)
      } else return
      log.debug({ replica: route.replicaId, outcome: result.outcome }, 'gateway: no WebSocket with this replica')
    } finally {
      contact.end()
      release()
    }
  }
  const replicas = tried.size === 1 ? 'its replica' : `${tried.size} of its replicas`
  const text = `No WebSocket with model "${model}": ${replicas} did not answer or refused. Try again.`
  const extra = { retryAfterS: RETRY_AFTER_S, details: { param: 'model' } }
  // A handshake that came to nothing may be tried again: no engine has done anything for it.
  throw new NotServedError('bad_gateway', text, extra, { passed: tried, mayWait: true, isUnreached: false })
}

function connectToRoute(
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
  { route, tls }: { route: LiveRoute; tls: ClientTls },
  onHeard: () => void,
): Promise<Forwarded> {
  const at = replicaAt(route, tls)
  if (!at) {
    const error = new Error(`its node has the address "${route.address}", which is none`)
    return Promise.resolve({ outcome: 'unreachable', error })
  }
  return forwardUpgrade(request, socket, head, {
    host: at.host,
    port: at.port,
    tls: at.tls,
    path: `${at.path}${request.url ?? ''}`,
    headers: new Instead(HEADERS, at.lines + protocolLine(request)),
    answerHeaders: ANSWER_HEADERS,
    isRefusal: (answer) => answer.headers[REFUSAL_HEADER] !== undefined,
    onHeard,
  })
}

/** OpenAI's browser clients offer their key as a protocol, since a browser lets them set no header: it stays here. */
function protocolLine({ headers }: IncomingMessage): string {
  const offered = headers[PROTOCOL]?.split(',').map((name) => name.trim()) ?? []
  const passed = offered.filter((name) => !name.toLowerCase().startsWith(KEY_AS_PROTOCOL))
  return passed.length === 0 ? '' : `${PROTOCOL}: ${passed.join(', ')}\r\n`
}

const PROTOCOL = 'sec-websocket-protocol'
const KEY_AS_PROTOCOL = 'openai-insecure-api-key.'
const HEADERS = notForSocketEngines([PROTOCOL])
const ANSWER_HEADERS = new Instead(notForClients(), '')
