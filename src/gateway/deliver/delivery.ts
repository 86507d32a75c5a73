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

/** What was sent to a replica already, and is counted there. */
export interface Begun {
  route: LiveRoute
  release: () => void
  connection: UpstreamConnection
}

/** One replica's part in it. `next`: another replica may be tried. An error is the last word. */
export type DeliveryEnd = 'served' | 'next' | AppError

/** At most this many replicas are tried in one round, and none of them twice. */
const MOST_TRIES = 3
/** Replicas that a probe finds dead were sent nothing, so there may be more of those. */
const MOST_DEAD = 10
/**
 * All replicas of a model may die at once, and a request goes on to the one that replaces them. What this many had and did not
 * answer, in all rounds, may be what ends them: it is taken to no other.
 */
const MOST_REACHED = 3
const RETRY_AFTER_S = 2

/**
 * Goes from replica to replica until one serves: the best first, then the next best. It is with one replica at a time, and
 * counts there from the pick to the end. Requests (serve.ts) and WebSockets (upgrade.ts) differ only in `send`.
 */
export abstract class Delivery {
  readonly #deps: DeliveryDeps
  readonly #parcel: Parcel
  readonly #done: Done
  readonly #passed: LiveRoute[] = []
  /** Took the connection and did not answer the probe: still better than to give up. */
  #silent: LiveRoute[] | undefined
  readonly #triesBefore: number
  #dead = 0
  /** Gives back the count of the replica that has it now. */
  #release = nothing

  constructor(deps: DeliveryDeps, parcel: Parcel, done: Done) {
    this.#deps = deps
    this.#parcel = parcel
    this.#done = done
    this.#triesBefore = parcel.decision.tries.length
  }

  /** Sends it to this replica, and calls `end` once when that is over. */
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

  /** Ends it for a mistake of ours. */
  protected fail(error: unknown): void {
    this.#release()
    this.#done(error)
  }

  /**
   * Replicas that are left out are tried when there are no others: a try is better than a refusal. So are those beside one
   * that could not be reached: they are mostly as far away.
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

  /** By what tells one run from another: the table may have made a new route of it meanwhile. */
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
  // A client that has gone waits for nothing; that it has gone is found when it would be served.
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
