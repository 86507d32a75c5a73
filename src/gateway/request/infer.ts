import { clientOf } from '../../http/upstream/client-watch.ts'
import type { BodyRoom } from '../../http/server/body-budget.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { AppError, toAppError } from '../../platform/errors.ts'
import type { HttpRequest, HttpResponse } from '../../http/exchange.ts'
import type { Logger } from '../../platform/run/log.ts'
import type { Tracer } from '../../platform/tracing/tracer.ts'
import { notServed } from './api-paths.ts'
import { apiStyle, sendApiError, type ApiStyle } from '../access/api-errors.ts'
import type { Decisions } from '../records/decisions.ts'
import type { Decision } from '../records/decision.ts'
import type { Caller } from '../access/guard.ts'
import { KEPT_FOR_MS, KeepAlive, wantsKeepAlive } from './keep-alive.ts'
import { findModel } from '../access/find-model.ts'
import { RequestTrace } from '../records/request-trace.ts'
import { roomFor, type ReadLimits } from '../access/body-room.ts'
import { readRequest, type ReadRequest } from './read-request.ts'
import { refuseDots } from './refuse-dots.ts'
import type { LiveTable } from '../table/routing-table.ts'
import type { Begun } from '../deliver/delivery.ts'
import { serve } from '../deliver/serve.ts'
import type { Exchange, ServeDeps } from '../deliver/exchange.ts'
import { serveFrom, serveWhenReady, type Ask, type Done, type ReadyDeps } from '../deliver/serve-when-ready.ts'

export interface InferDeps {
  table: LiveTable
  clock: Clock
  log: Logger
  decisions: Decisions
  limits: Partial<ReadLimits> | undefined
  readyDeps: ReadyDeps
  serveDeps: ServeDeps
  /** Missing where tracing is off. */
  tracer?: Tracer | undefined
}

/** A request for a model, as received. */
export interface Asked {
  request: HttpRequest
  response: HttpResponse
  caller: Caller
  /** Without its query. */
  path: string
  requestId: string
  onEnded: (decision: Decision) => void
}

/** The state of a request that the fast path hands over. */
export interface Underway extends Begun {
  decision: Decision
  read: ReadRequest
  /** Gives back its place in the waiting room. */
  leave: () => void
}

/**
 * Serves one request for a model: reads it, waits for its model and a place, delivers it and records the outcome. A request
 * that arrived whole, for a model with a replica and a free place, has been sent when this returns: only requests that must
 * wait use promises.
 */
export function infer(deps: InferDeps, asked: Asked): void {
  new Inference(deps, asked).start()
}

/** Continues with a request that the fast path has already sent to a replica. */
export function inferOn(deps: InferDeps, asked: Asked, underway: Underway): void {
  new Inference(deps, asked, underway.decision).goOn(underway)
}

class Inference implements Exchange, Ask {
  readonly request: HttpRequest
  readonly response: HttpResponse
  readonly caller: Caller
  readonly decision: Decision
  readonly style: ApiStyle
  readonly gone: AbortSignal
  readonly trace: RequestTrace | undefined
  body = NOTHING
  model = ''
  sessionKey: string | undefined
  budgetMs: Ask['budgetMs']
  onStatus: Ask['onStatus']
  readonly #deps: InferDeps
  readonly #onEnded: Asked['onEnded']
  #keepAlive: KeepAlive | undefined
  /** The memory of its body, which is kept for another try. */
  #room: BodyRoom | undefined

  constructor(deps: InferDeps, { request, response, caller, path, requestId, onEnded }: Asked, decision?: Decision) {
    this.request = request
    this.response = response
    this.caller = caller
    this.decision = decision ?? decisionNow(deps, requestId, path, caller)
    this.style = apiStyle(path)
    this.gone = clientOf(request.socket).gone
    this.trace = deps.tracer && traceOf(deps.tracer, request)
    this.#deps = deps
    this.#onEnded = onEnded
  }

  /** Where its waits are recorded. */
  get waits(): Decision {
    return this.decision
  }

  start(): void {
    let read: ReadRequest | Promise<ReadRequest>
    try {
      refuseDots(this.decision.path)
      const { limits } = this.#deps
      this.#room = roomFor(this.request, this.caller.keyId, limits)
      read = readRequest(this.request, limits, this.#room)
    } catch (thrown) {
      return this.#end(thrown)
    }
    if (read instanceof Promise) void read.then((found) => this.#onRead(found), this.#end)
    else this.#onRead(read)
  }

  goOn(underway: Underway): void {
    const { body, model, sessionKey } = underway.read
    this.body = body
    this.model = model
    this.sessionKey = sessionKey
    const first = (done: Done): void => serve(this.#deps.serveDeps, this, done, underway)
    serveFrom(this.#deps.readyDeps, this, underway.leave, { first, again: this.#serve }, this.#end)
  }

  #onRead({ body, model, sessionKey, isStream }: ReadRequest): void {
    const { table, readyDeps } = this.#deps
    this.body = body
    this.model = model
    this.sessionKey = sessionKey
    this.decision.model = model
    this.decision.isStream = isStream
    try {
      const served = findModel(table, model, this.caller)
      // The table's string, so that the record does not keep this request's own.
      this.decision.model = served.name
      this.decision.policy = served.routePolicy
      if (served.serves?.has(this.decision.path) === false) throw notServed(served, this.decision.path)
      if (wantsKeepAlive(this.request, isStream)) this.#keepAtTheLine()
    } catch (thrown) {
      return this.#end(thrown)
    }
    serveWhenReady(readyDeps, this, this.#serve, this.#end)
  }

  #keepAtTheLine(): void {
    const { model, decision } = this
    const keepAlive = new KeepAlive(this.response, this.#deps.clock, { model, requestId: decision.requestId })
    this.#keepAlive = keepAlive
    this.budgetMs = KEPT_FOR_MS
    this.onStatus = keepAlive.tell
  }

  readonly #serve = (done: Done): void => {
    this.#keepAlive?.stop()
    serve(this.#deps.serveDeps, this, done)
  }

  readonly #end = (thrown?: unknown): void => {
    const { clock, decisions } = this.#deps
    try {
      if (thrown !== undefined) this.#fail(thrown)
    } finally {
      this.#room?.release()
      this.decision.endedMs = clock.nowMs()
      decisions.keep(this.decision)
      this.trace?.end(this.decision)
      this.#onEnded(this.decision)
    }
  }

  #fail(thrown: unknown): void {
    const { request, response, decision, style } = this
    const { requestId: id, path } = decision
    const error = toAppError(thrown)
    const keepAlive = this.#keepAlive
    const isGone = this.gone.aborted || error.code === 'client_gone'
    decision.status = isGone ? CLIENT_GONE : error.status
    if (error.code === 'internal') this.#deps.log.error({ err: thrown, request: id, path }, 'gateway: a request failed')
    if (isGone) keepAlive?.stop()
    else if (keepAlive?.hasBegun) keepAlive.end(style, error)
    else {
      if (!response.headersSent) response.setHeader('x-request-id', id)
      sendApiError(request, response, error)
    }
  }
}

function traceOf(tracer: Tracer, { headers }: HttpRequest): RequestTrace | undefined {
  const place = tracer.begin(headers['traceparent'])
  return place && new RequestTrace(tracer, place)
}

const NOTHING: Buffer = Buffer.alloc(0)

/** The recorded status of a request whose client has gone; it is never sent. */
export const CLIENT_GONE = new AppError('client_gone', '').status

function decisionNow({ clock, decisions }: InferDeps, requestId: string, path: string, caller: Caller): Decision {
  const nowMs = clock.nowMs()
  return newDecision(requestId, path, caller, nowMs, decisions.isSampled(nowMs))
}

/** The record of a request that arrives at `nowMs`. */
export function newDecision(
  requestId: string,
  path: string,
  caller: Caller,
  nowMs: number,
  isSampled: boolean,
): Decision {
  return {
    requestId,
    atMs: nowMs,
    method: 'POST',
    path,
    model: null,
    policy: null,
    keyId: caller.keyId,
    candidates: [],
    candidateCount: 0,
    tries: [],
    isSampled,
    isStream: false,
    queuedMs: 0,
    loadWaitMs: 0,
    status: 0,
    firstByteMs: 0,
    endedMs: nowMs,
  }
}
