import { randomUUID } from 'node:crypto'
import { NobodyListensError, type Bus } from '../bus/bus.ts'
import type { Clock } from '../platform/clock.ts'
import { AppError, toAppError } from '../platform/errors.ts'
import type { HttpRequest, HttpResponse } from '../platform/exchange.ts'
import { goneSignal } from '../platform/gone-signal.ts'
import { pathOf, type UpgradeHandler } from '../platform/http.ts'
import type { Logger } from '../platform/log.ts'
import { ConnectionPool } from '../platform/connection-pool.ts'
import { apiStyle, sendApiError } from './api-errors.ts'
import { ColdLoads } from './cold-loads.ts'
import { Decisions, type Decision } from './decisions.ts'
import type { Caller } from './guard.ts'
import { KEPT_FOR_MS, KeepAlive, wantsKeepAlive } from './keep-alive.ts'
import { Liveness } from './liveness.ts'
import { answerModels, findModel, isModelsPath } from './models-api.ts'
import { probe } from './probe.ts'
import { readRequest, type ReadLimits } from './read-request.ts'
import { refuseDots } from './refuse-dots.ts'
import type { LiveTable } from './routing-table.ts'
import { serve, type ServeDeps } from './serve.ts'
import { serveWhenReady, type ReadyDeps } from './serve-when-ready.ts'
import { upgradeHandler, type UpgradeDeps } from './upgrade.ts'
import { WaitingRoom } from './waiting-room.ts'

export interface InferenceDeps {
  table: LiveTable
  /** Where models are asked for that have no replica; without it that is in vain. */
  bus?: Pick<Bus, 'request'>
  clock: Clock
  log: Logger
  /** Who this gateway is, in its decisions. */
  gatewayId?: string
  /** Whether answers tell which node and replica gave them; off, because that is nobody's business by default. */
  exposeNode?: boolean
  /** A replica that was not heard for longer is asked whether it lives before it is sent anything; 0 asks none. */
  probeTtlMs?: number
  waitingRoom?: WaitingRoom
  /** How long a request waits for its model to be loaded; Infinity is for as long as it takes. */
  modelLoadWaitMs?: number | undefined
  limits?: Partial<ReadLimits>
}

export interface InferenceApi {
  (request: HttpRequest, response: HttpResponse, caller: Caller): Promise<void>
  readonly decisions: Pick<Decisions, 'find'>
  /** Calls for every request that has ended. */
  onEnded(listener: (decision: Decision) => void): void
  /** For those who want to speak WebSocket: they wait in the same room and learn from the same failures. */
  upgrades(allow: UpgradeDeps['allow']): UpgradeHandler
  dispose(): void
}

const MODEL_LOAD_WAIT_MS = 60_000

/**
 * Serves everything under `/v1/`. Whatever is posted there takes the same way, by the model that it names: there is no
 * list of paths, so none can be forgotten by the counting of requests in flight.
 */
export function inferenceApi(deps: InferenceDeps): InferenceApi {
  const { table, clock, log, exposeNode = false } = deps
  const waitingRoom = deps.waitingRoom ?? new WaitingRoom(clock)
  const { bus = nobody, modelLoadWaitMs: waitMs = MODEL_LOAD_WAIT_MS } = deps
  const mostWaiting = waitingRoom.limits.waitingPerModel
  const coldLoads = new ColdLoads({ table, bus, clock, log, waitMs, mostWaiting })
  const readyDeps: ReadyDeps = { table, coldLoads, waitingRoom, clock }
  const decisions = new Decisions(deps.gatewayId ?? 'gateway')
  const liveness = new Liveness({ table, clock, log, probe, ttlMs: deps.probeTtlMs })
  const pool = new ConnectionPool()
  let onEnded: (decision: Decision) => void = () => {}
  const serveDeps: ServeDeps = { table, liveness, pool, clock, log, exposeNode }

  const handler = async (request: HttpRequest, response: HttpResponse, caller: Caller): Promise<void> => {
    const requestId = requestIdOf(request)
    const path = pathOf(request)
    if (request.method === 'POST' && !isModelsPath(path)) return infer(request, response, caller, path, requestId)
    response.setHeader('x-request-id', requestId)
    try {
      if (!isModelsPath(path)) throw new AppError('not_found', `There is nothing to ${request.method} at ${path}.`)
      answerModels(table, request, response, path, caller)
    } catch (thrown) {
      sendApiError(request, response, toAppError(thrown))
    }
  }

  const infer = async (
    request: HttpRequest,
    response: HttpResponse,
    caller: Caller,
    path: string,
    requestId: string,
  ): Promise<void> => {
    const nowMs = clock.nowMs()
    const decision = newDecision(requestId, path, caller, nowMs, decisions.isSampled(nowMs))
    const gone = goneSignal(request.socket)
    const style = apiStyle(path)
    let keepAlive: KeepAlive | undefined
    try {
      refuseDots(path)
      const { body, model, sessionKey, isStream } = await readRequest(request, deps.limits)
      decision.model = model
      decision.policy = findModel(table, model, caller).routePolicy
      if (wantsKeepAlive(request, isStream)) keepAlive = new KeepAlive(response, clock, { model, requestId })
      const patience = keepAlive && { budgetMs: KEPT_FOR_MS, onStatus: keepAlive.tell }
      const ask = { model, caller, gone, waits: decision, ...patience }
      await serveWhenReady(readyDeps, ask, () => {
        keepAlive?.stop()
        return serve(serveDeps, { request, response, body, model, sessionKey, style, gone, decision })
      })
    } catch (thrown) {
      const error = toAppError(thrown)
      const isGone = gone.aborted || error.code === 'client_gone'
      decision.status = isGone ? CLIENT_GONE : error.status
      if (error.code === 'internal') log.error({ err: thrown, request: requestId, path }, 'gateway: a request failed')
      if (isGone) keepAlive?.stop()
      else if (keepAlive?.hasBegun) keepAlive.end(style, error)
      else sendOwnError(request, response, error, requestId)
    } finally {
      decision.endedMs = clock.nowMs()
      decisions.keep(decision)
      onEnded(decision)
    }
  }
  return Object.assign(handler, {
    decisions,
    onEnded: (listener: (decision: Decision) => void) => void (onEnded = listener),
    upgrades: (allow: UpgradeDeps['allow']) => upgradeHandler({ ...readyDeps, liveness, log, allow }),
    dispose() {
      coldLoads.dispose()
      pool.destroy()
    },
  })
}

const nobody: Pick<Bus, 'request'> = {
  async request(name) {
    throw new NobodyListensError(name)
  },
}

/** In no answer, because there is nobody to read one. */
const CLIENT_GONE = new AppError('client_gone', '').status

/** The client's own, so that it finds its request in our records; else one that nobody else has. */
function requestIdOf({ headers }: HttpRequest): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && /^[\x20-\x7e]{1,128}$/.test(given) ? given : randomUUID()
}

function newDecision(requestId: string, path: string, caller: Caller, nowMs: number, isSampled: boolean): Decision {
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
    queuedMs: 0,
    loadWaitMs: 0,
    status: 0,
    endedMs: nowMs,
  }
}

function sendOwnError(request: HttpRequest, response: HttpResponse, error: AppError, requestId: string): void {
  if (!response.headersSent) response.setHeader('x-request-id', requestId)
  sendApiError(request, response, error)
}
