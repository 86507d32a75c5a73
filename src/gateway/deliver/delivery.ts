import type { DeliveryNotes, Parcel } from './parcel.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { AppError } from '../../platform/errors.ts'
import type { UpstreamConnection } from '../../http/upstream/upstream-connection.ts'
import { noteCandidates, noteLeftOut } from './candidates.ts'
import type { Liveness } from '../health/liveness.ts'
import { NotServedError } from './unserved-error.ts'
import type { Verdict } from '../health/probe.ts'
import { routeKey, type LiveRoute, type LiveTable } from '../table/routing-table.ts'
import type { Done } from './serve-when-ready.ts'

export interface DeliveryDeps {
  table: LiveTable
  liveness: Pick<Liveness, 'check' | 'whyOut'>
  clock: Clock
}

/** A request that was already sent to a replica, and counts there. */
export interface Begun {
  route: LiveRoute
  release: () => void
  connection: UpstreamConnection
}

/** How one replica's turn ended. `next`: another replica may be tried. An error is final. */
export type DeliveryEnd = 'served' | 'next' | AppError

/** At most this many replicas are tried in one round, each only once. */
const MOST_TRIES = 3
/** Replicas that a probe finds dead were sent nothing, so more of them are allowed. */
const MOST_DEAD = 10
/**
 * In all rounds, a request goes to at most this many replicas that do not answer: it may be the request that kills them.
 * (All replicas of a model may also die at once; then the request goes on to their replacement.)
 */
const MOST_REACHED = 3
const RETRY_AFTER_S = 2

/**
 * Tries one replica after the other until one serves, the best first. The chosen replica's in-flight count covers the
 * request from the pick to its end. Requests (serve.ts) and WebSockets (upgrade.ts) differ only in `send`.
 */
export abstract class Delivery {
  readonly #deps: DeliveryDeps
  readonly #parcel: Parcel
  readonly #done: Done
  readonly #passed: LiveRoute[] = []
  /** Replicas that accepted the connection and did not answer the probe. They are tried last, before giving up. */
  #silent: LiveRoute[] | undefined
  readonly #triesBefore: number
  #dead = 0
  /** Takes the request off the in-flight count of the current replica. */
  #release = nothing

  constructor(deps: DeliveryDeps, parcel: Parcel, done: Done) {
    this.#deps = deps
    this.#parcel = parcel
    this.#done = done
    this.#triesBefore = parcel.decision.tries.length
  }

  /** Sends the request to this replica, and calls `end` once when that is over. */
  protected abstract send(route: LiveRoute, sentOn?: UpstreamConnection): void

  goOn({ route, release, connection }: Begun): void {
    this.#passed.push(route)
    this.#release = release
    this.send(route, connection)
  }

  next(): void {
    const { table, liveness, clock } = this.#deps
    const { tries } = this.#parcel.decision
    const mayTry = tries.length - this.#triesBefore < MOST_TRIES && reached(tries) < MOST_REACHED
    const fresh = mayTry && this.#dead < MOST_DEAD ? this.#choose() : undefined
    const route = fresh ?? (mayTry ? this.#silent?.shift() : undefined)
    if (!route) return this.#done(failure(this.#parcel, this.#passed))
    this.#passed.push(route)
    this.#release = table.begin(route, clock.nowMs())
    const checking = fresh && liveness.check(route)
    if (checking) void this.#sendIfAlive(route, checking)
    else this.send(route)
  }

  protected end(end: DeliveryEnd): void {
    this.#release()
    if (end === 'next') this.next()
    else this.#done(end === 'served' ? undefined : end)
  }

  /** Ends the delivery after an internal error. */
  protected fail(error: unknown): void {
    this.#release()
    this.#done(error)
  }

  /**
   * Ejected replicas are tried when there are no others, because a try is better than a refusal. The same holds for replicas
   * on a node where another replica could not be reached: they mostly cannot be reached either.
   */
  #choose(): LiveRoute | undefined {
    const { table, liveness } = this.#deps
    const { model, sessionKey, decision } = this.#parcel
    const ask = { sessionKey }
    const isPassed = (route: LiveRoute): boolean => this.#isPassed(route)
    const isOut = (route: LiveRoute): boolean => this.#isPassed(route) || liveness.whyOut(route) !== undefined
    const isFar = (route: LiveRoute): boolean => isOut(route) || wasUnreachable(decision, route)
    const nearby = decision.tries.length > 0 ? table.pick(model, ask, isFar) : undefined
    const route = nearby ?? table.pick(model, ask, isOut) ?? table.pick(model, ask, isPassed)
    if (route) noteCandidates(decision, route, table, liveness)
    return route
  }

  /** Compares id and generation, because the table may have replaced the route object. */
  #isPassed({ replicaId, generation }: LiveRoute): boolean {
    return this.#passed.some((route) => route.replicaId === replicaId && route.generation === generation)
  }

  async #sendIfAlive(route: LiveRoute, checking: Promise<Verdict>): Promise<void> {
    let problem: Awaited<ReturnType<typeof whyNotAlive>>
    try {
      problem = await whyNotAlive(checking, this.#parcel.gone)
    } catch (error) {
      return this.fail(error)
    }
    if (!problem) return this.send(route)
    noteLeftOut(this.#parcel.decision, route, `no probe answered: ${problem.why}`)
    if (problem.state === 'silent') (this.#silent ??= []).push(route)
    this.#dead += 1
    this.end('next')
  }
}

const nothing = (): void => {}

/** Whether another replica on the same node could not be reached. */
function wasUnreachable({ tries }: DeliveryNotes, { nodeId }: LiveRoute): boolean {
  return tries.some(({ route, outcome }) => outcome === 'unreachable' && route.nodeId === nodeId)
}

async function whyNotAlive(checking: Promise<Verdict>, gone: AbortSignal) {
  // When the client goes, the wait ends at once; `send` then finds that it has gone.
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

/** How many replicas may have received the request, in all rounds. */
function reached(tries: DeliveryNotes['tries']): number {
  return tries.reduce((count, { mayHaveReached }) => count + Number(mayHaveReached), 0)
}

function failure({ model, decision: { tries } }: Parcel, routes: readonly LiveRoute[]): AppError {
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
