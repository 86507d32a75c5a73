import type { Clock } from '../platform/clock.ts'
import type { ConnectionPool } from '../platform/connection-pool.ts'
import type { ClientTls } from '../platform/tls/client-tls.ts'
import type { AppError } from '../platform/errors.ts'
import type { HttpRequest, HttpResponse } from '../platform/exchange.ts'
import type { Logger } from '../platform/log.ts'
import type { RepeatedLines } from '../platform/repeated-lines.ts'
import type { Forward } from '../platform/proxy.ts'
import type { UpstreamConnection } from '../platform/upstream-connection.ts'
import type { ApiStyle } from './api-errors.ts'
import { Attempt, type AttemptEnd } from './attempt.ts'
import { noteCandidates, noteLeftOut } from './candidates.ts'
import type { Decision } from './decisions.ts'
import type { Liveness } from './liveness.ts'
import { NotServedError } from './not-served.ts'
import type { Verdict } from './probe.ts'
import type { RequestTrace } from './request-trace.ts'
import { routeKey, type LiveRoute, type LiveTable } from './routing-table.ts'
import type { Done } from './serve-when-ready.ts'
import type { Silence } from './silence.ts'

export interface ServeDeps {
  table: LiveTable
  liveness: Liveness
  silence: Silence
  pool: ConnectionPool
  forward: Forward
  /** Connects to data ports that are encrypted. */
  tls: ClientTls
  clock: Clock
  log: Logger
  /** For failures that a client can cause as often as it likes. */
  lines: RepeatedLines
  /** Whether answers tell which node and replica gave them. */
  exposeNode: boolean
}

/** A request that has been read and admitted. */
export interface Exchange {
  readonly request: HttpRequest
  readonly response: HttpResponse
  readonly body: Buffer
  readonly model: string
  readonly sessionKey: string | undefined
  readonly style: ApiStyle
  /** Aborted when the client has gone. */
  readonly gone: AbortSignal
  /** Written as it goes. */
  readonly decision: Decision
  /** For the few that are traced. */
  readonly trace: RequestTrace | undefined
}

/** A request is sent to this many replicas at most in one round, and never twice to one. */
const MOST_TRIES = 3
/** Replicas that a request finds dead by asking them first have not had it, so there may be more of those. */
const MOST_DEAD = 10
/**
 * All replicas of a model may die at once, and a request goes on to the one that replaces them. What this many had and did not
 * answer, in all rounds, may be what ends them: it is taken to no other.
 */
const MOST_REACHED = 3
const RETRY_AFTER_S = 2

/**
 * Sends a request to the best replica; to the next best when that one cannot be reached or refuses, for as long as nothing
 * has reached the client. Never to two at once: an engine that works for nothing is worse than a wait. What it is sent to
 * counts from the pick on, until here is the end of it.
 *
 * This file, attempt.ts and platform/proxy.ts are all that the bytes of a request and its answer pass through after they
 * were read. Nothing waits here unless a replica must be asked first whether it lives.
 */
export function serve(deps: ServeDeps, exchange: Exchange, done: Done, begun?: Begun): void {
  const delivery = new Delivery(deps, exchange, done)
  if (begun) delivery.goOn(begun)
  else delivery.next()
}

/** A request that has been sent to a replica already, and is counted there. */
export interface Begun {
  route: LiveRoute
  release: () => void
  connection: UpstreamConnection
}

/** A request on its way from replica to replica until one serves it. */
class Delivery {
  readonly #deps: ServeDeps
  readonly #exchange: Exchange
  readonly #done: Done
  readonly #passed: LiveRoute[] = []
  /** Took the connection and did not answer the probe: still better than to give up. */
  #silent: LiveRoute[] | undefined
  readonly #triesBefore: number
  #dead = 0
  /** Gives back the count of the replica that has the request now. */
  #release = nothing

  constructor(deps: ServeDeps, exchange: Exchange, done: Done) {
    this.#deps = deps
    this.#exchange = exchange
    this.#done = done
    this.#triesBefore = exchange.decision.tries.length
  }

  goOn({ route, release, connection }: Begun): void {
    this.#passed.push(route)
    this.#release = release
    this.#send(route, connection)
  }

  next(): void {
    const { table, liveness, clock } = this.#deps
    const { tries } = this.#exchange.decision
    const mayTry = tries.length - this.#triesBefore < MOST_TRIES && reached(tries) < MOST_REACHED
    const fresh = mayTry && this.#dead < MOST_DEAD ? this.#choose() : undefined
    const route = fresh ?? (mayTry ? this.#silent?.shift() : undefined)
    if (!route) return this.#done(failure(this.#exchange, this.#passed))
    this.#passed.push(route)
    this.#release = table.begin(route, clock.nowMs())
    const checking = fresh && liveness.check(route)
    if (checking) void this.#sendIfAlive(route, checking)
    else this.#send(route)
  }

  /**
   * Replicas that are left out are tried when there are no others: a try is better than a refusal. So are those beside one
   * that could not be reached: they are mostly as far away.
   */
  #choose(): LiveRoute | undefined {
    const { table, liveness } = this.#deps
    const { model, sessionKey, decision } = this.#exchange
    const ask = { sessionKey }
    const isPassed = (route: LiveRoute): boolean => this.#isPassed(route)
    const isOut = (route: LiveRoute): boolean => this.#isPassed(route) || liveness.whyOut(route) !== undefined
    const isFar = (route: LiveRoute): boolean => isOut(route) || wasUnreachable(decision, route)
    const nearby = decision.tries.length > 0 ? table.pick(model, ask, isFar) : undefined
    const route = nearby ?? table.pick(model, ask, isOut) ?? table.pick(model, ask, isPassed)
    if (route) noteCandidates(decision, route, table, liveness)
    return route
  }

  /** By what tells one run from another: the table may have made a new route of it meanwhile. */
  #isPassed({ replicaId, generation }: LiveRoute): boolean {
    return this.#passed.some((route) => route.replicaId === replicaId && route.generation === generation)
  }

  async #sendIfAlive(route: LiveRoute, checking: Promise<Verdict>): Promise<void> {
    let problem: Awaited<ReturnType<typeof whyNotAlive>>
    try {
      problem = await whyNotAlive(checking, this.#exchange.gone)
    } catch (error) {
      this.#release()
      return this.#done(error)
    }
    if (!problem) return this.#send(route)
    noteLeftOut(this.#exchange.decision, route, `no probe answered: ${problem.why}`)
    if (problem.state === 'silent') (this.#silent ??= []).push(route)
    this.#dead += 1
    this.#release()
    this.next()
  }

  #send(route: LiveRoute, sentOn?: UpstreamConnection): void {
    const attempt = new Attempt(this.#deps, this.#exchange, route, this.#onEnd, sentOn)
    try {
      attempt.start()
    } catch (error) {
      if (!attempt.close()) throw error
      this.#release()
      this.#done(error)
    }
  }

  readonly #onEnd = (end: AttemptEnd): void => {
    this.#release()
    if (end === 'next') this.next()
    else this.#done(end === 'served' ? undefined : end)
  }
}

const nothing = (): void => {}

/** Whether this request could not reach another replica on the same node. */
function wasUnreachable({ tries }: Decision, { nodeId }: LiveRoute): boolean {
  return tries.some(({ route, outcome }) => outcome === 'unreachable' && route.nodeId === nodeId)
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

/** How many replicas have had it, of earlier rounds, too. */
function reached(tries: Decision['tries']): number {
  return tries.reduce((count, { mayHaveReached }) => count + Number(mayHaveReached), 0)
}

function failure({ model, decision: { tries } }: Exchange, routes: readonly LiveRoute[]): AppError {
  const extra = { retryAfterS: RETRY_AFTER_S, details: { param: 'model' } }
  const mayWait = reached(tries) < MOST_REACHED
  const passed = new Set(routes.map(routeKey))
  const count = passed.size
  if (count === 0) {
    const text = `Model "${model}" has no ready replica any more. Flotilla replaces lost replicas by itself; try again.`
    return new NotServedError('model_not_ready', text, extra, { passed, mayWait, isUnreached: true })
  }
  const replicas = count === 1 ? 'its replica' : `${count} of its replicas`
  const refused = new Set(tries.filter(({ outcome }) => outcome === 'refused').map(({ route }) => routeKey(route)))
  const isRefused = [...passed].every((key) => refused.has(key))
  const text = isRefused
    ? `Model "${model}" cannot be served now: ${replicas} refused.`
    : `Model "${model}" cannot be reached: ${replicas} did not answer.`
  const code = isRefused ? 'model_not_ready' : 'bad_gateway'
  const hint = 'Flotilla replaces lost replicas by itself; try again.'
  return new NotServedError(code, `${text} ${hint}`, extra, { passed, mayWait, isUnreached: !isRefused })
}
