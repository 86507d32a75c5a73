import { MODEL_HEADER, REFUSAL_HEADER } from '../api/data-port.ts'
import type { Clock } from '../platform/clock.ts'
import type { ConnectionPool } from '../platform/connection-pool.ts'
import { AppError } from '../platform/errors.ts'
import type { HttpRequest, HttpResponse } from '../platform/exchange.ts'
import type { Logger } from '../platform/log.ts'
import { forward, type Forwarded, type Upstream } from '../platform/proxy.ts'
import { errorEvent, type ApiStyle } from './api-errors.ts'
import { noteCandidates, noteLeftOut } from './candidates.ts'
import type { Decision, Try } from './decisions.ts'
import type { Contact, Liveness } from './liveness.ts'
import { isUnsent, NotServedError } from './not-served.ts'
import type { Verdict } from './probe.ts'
import { replicaAt } from './replica-at.ts'
import { routeKey, type LiveRoute, type LiveTable } from './routing-table.ts'

export interface ServeDeps {
  table: LiveTable
  liveness: Liveness
  pool: ConnectionPool
  clock: Clock
  log: Logger
  /** Whether answers tell which node and replica gave them. */
  exposeNode: boolean
}

/** A request that has been read and admitted. */
export interface Exchange {
  request: HttpRequest
  response: HttpResponse
  body: Buffer
  model: string
  sessionKey: string | undefined
  style: ApiStyle
  /** Aborted when the client has gone. */
  gone: AbortSignal
  /** Written as it goes. */
  decision: Decision
}

/** A request is sent to this many replicas at most in one round, and never twice to one. */
const MOST_TRIES = 3
/** Replicas that a request finds dead by asking them first have not had it, so there may be more of those. */
const MOST_DEAD = 10
const RETRY_AFTER_S = 2

/**
 * Sends a request to the best replica; to the next best when that one cannot be reached or refuses, for as long as nothing
 * has reached the client. Never to two at once: an engine that works for nothing is worse than a wait. What it is sent to
 * counts from the pick on, until here is the end of it.
 *
 * This file and platform/proxy.ts are all that the bytes of a request and its answer pass through after they were read.
 */
export async function serve(deps: ServeDeps, exchange: Exchange): Promise<void> {
  const { table, clock } = deps
  const { decision } = exchange
  const passed = new Set<string>()
  /** Took the connection and did not answer the probe: still better than to give up. */
  const silent: LiveRoute[] = []
  let dead = 0
  const before = decision.tries.length
  while (decision.tries.length - before < MOST_TRIES) {
    const fresh = dead < MOST_DEAD ? choose(deps, exchange, passed) : undefined
    const route = fresh ?? silent.shift()
    if (!route) break
    passed.add(routeKey(route))
    const release = table.begin(route, clock.nowMs())
    try {
      const checking = fresh && deps.liveness.check(route)
      const problem = checking && (await whyNotAlive(checking, exchange.gone))
      if (problem) {
        noteLeftOut(decision, route, `no probe answered: ${problem.why}`)
        if (problem.state === 'silent') silent.push(route)
        dead += 1
      } else if (await isServed(deps, exchange, route)) return
    } finally {
      release()
    }
  }
  throw failure(exchange, passed)
}

/** Replicas that are left out are tried when there are no others: a try is better than a refusal. */
function choose({ table, liveness }: ServeDeps, exchange: Exchange, passed: Set<string>): LiveRoute | undefined {
  const { model, sessionKey, decision } = exchange
  const isPassed = (route: LiveRoute): boolean => passed.has(routeKey(route))
  const isOut = (route: LiveRoute): boolean => isPassed(route) || liveness.whyOut(route) !== undefined
  const route = table.pick(model, { sessionKey }, isOut) ?? table.pick(model, { sessionKey }, isPassed)
  if (route) noteCandidates(decision, route, table, liveness)
  return route
}

async function whyNotAlive(checking: Promise<Verdict>, gone: AbortSignal) {
  // Whoever has gone waits for nothing; that it has gone is found when it would be served.
  const verdict = await unlessAborted(checking, gone)
  return verdict && verdict.state !== 'alive' ? verdict : undefined
}

function unlessAborted<T>(waiting: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => resolve(undefined)
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    void waiting.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/** False when another may be tried. */
async function isServed(deps: ServeDeps, exchange: Exchange, route: LiveRoute): Promise<boolean> {
  const { liveness, clock, log } = deps
  const { decision, response } = exchange
  const startMs = clock.nowMs()
  const contact = liveness.contact(route)
  let result: Forwarded
  try {
    result = await forwardTo(deps, exchange, route, contact)
  } finally {
    contact.end()
  }
  const error = 'error' in result ? result.error.message : null
  const note = (outcome: Try['outcome'], status: number | null, mayHaveReached = true): void => {
    decision.tries.push({ route, outcome, status, error, ms: clock.nowMs() - startMs, mayHaveReached })
  }
  const ids = { request: decision.requestId, replica: route.replicaId, node: route.nodeName }
  switch (result.outcome) {
    case 'answered':
      note('served', result.status)
      decision.status = result.status
      return true
    case 'client gone':
      note('client gone', response.headersSent ? response.statusCode : null)
      throw new AppError('client_gone', 'The client has gone.')
    case 'broken':
      note('broken off', response.statusCode)
      decision.status = response.statusCode
      liveness.doubt(route)
      log.warn({ ...ids, error }, 'gateway: an answer broke off')
      return true
    case 'refused':
      // Of a worker that has lost its engine (502) nobody knows what that one had read.
      note('refused', result.status, result.status === 502)
      liveness.refused(route, result.status)
      log.debug({ ...ids, status: result.status }, 'gateway: a replica refused')
      return false
    case 'unreachable':
      note('unreachable', null, !isUnsent(result.error))
      liveness.failed(route, result.error.message)
      log.debug({ ...ids, error }, 'gateway: a replica cannot be reached')
      return false
  }
}

function forwardTo(deps: ServeDeps, exchange: Exchange, route: LiveRoute, contact: Contact): Promise<Forwarded> {
  const at = replicaAt(route)
  if (!at) {
    const error = new Error(`its node has the address "${route.address}", which is none`)
    Object.assign(error, { syscall: 'connect' })
    return Promise.resolve({ outcome: 'unreachable', error })
  }
  const { request, response, body, decision, style } = exchange
  const upstream: Upstream = {
    host: at.host,
    port: at.port,
    path: `${at.path}${request.url ?? ''}`,
    headers: {
      host: at.headers.host,
      authorization: at.headers.authorization,
      [MODEL_HEADER]: at.headers[MODEL_HEADER],
      'x-request-id': decision.requestId,
      // The client's key is for us; the node's data port has its own.
      'x-api-key': undefined,
      expect: undefined,
      // What has begun without a compression cannot go on with one.
      ...(response.headersSent && { 'accept-encoding': 'identity' }),
    },
    answerHeaders: {
      'x-request-id': decision.requestId,
      // Nobody else's word passes for ours.
      'x-flotilla-node': deps.exposeNode ? encodeURI(route.nodeName) : undefined,
      'x-flotilla-replica': deps.exposeNode ? route.replicaId : undefined,
      [REFUSAL_HEADER]: undefined,
    },
    pool: deps.pool,
    lastWords: () => brokenStream(style, route),
    asEvent: (status, text) => errorEvent(style, engineError(status, text)),
    isRefusal,
    onHeard: contact.heard,
  }
  return forward(request, response, upstream, body)
}

/** That the request is too long, every replica would say. */
function isRefusal({ headers, statusCode }: Parameters<NonNullable<Upstream['isRefusal']>>[0]): boolean {
  return REFUSAL_HEADER in headers && statusCode !== 413
}

function brokenStream(style: ApiStyle, { nodeName }: LiveRoute): string {
  const message = `The replica on ${nodeName} stopped in the middle of this answer.`
  return errorEvent(style, new AppError('bad_gateway', message))
}

function engineError(status: number, text: string): AppError {
  const said = text.trim() === '' ? 'and nothing more' : text.trim()
  const code = status >= 400 && status < 500 ? 'bad_request' : 'bad_gateway'
  const message = `The engine answered with status ${status} instead of a stream of events: ${said}`
  return new AppError(code, message, { details: { status } })
}

function failure({ model, decision: { tries } }: Exchange, passed: ReadonlySet<string>): AppError {
  const extra = { retryAfterS: RETRY_AFTER_S, details: { param: 'model' } }
  // Of earlier rounds, too: what an engine may have had is not sent to ever more of them.
  const mayWait = !tries.some(({ mayHaveReached }) => mayHaveReached)
  const count = passed.size
  if (count === 0) {
    const text = `Model "${model}" has no ready replica any more. Flotilla replaces lost replicas by itself; try again.`
    return new NotServedError('model_not_ready', text, extra, { passed, mayWait })
  }
  const replicas = count === 1 ? 'its replica' : `${count} of its replicas`
  const refused = new Set(tries.filter(({ outcome }) => outcome === 'refused').map(({ route }) => routeKey(route)))
  const isRefused = [...passed].every((key) => refused.has(key))
  const text = isRefused
    ? `Model "${model}" cannot be served now: ${replicas} refused.`
    : `Model "${model}" cannot be reached: ${replicas} did not answer.`
  const code = isRefused ? 'model_not_ready' : 'bad_gateway'
  const hint = 'Flotilla replaces lost replicas by itself; try again.'
  return new NotServedError(code, `${text} ${hint}`, extra, { passed, mayWait })
}
