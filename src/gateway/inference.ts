import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../platform/clock.ts'
import { AppError, toAppError } from '../platform/errors.ts'
import { pathOf, type UpgradeHandler } from '../platform/http.ts'
import type { Logger } from '../platform/log.ts'
import { ConnectionPool } from '../platform/connection-pool.ts'
import { apiStyle, sendApiError } from './api-errors.ts'
import { Decisions, type Decision } from './decisions.ts'
import type { Caller } from './guard.ts'
import { Liveness } from './liveness.ts'
import { answerModels, findReadyModel, isModelsPath } from './models-api.ts'
import { probe } from './probe.ts'
import { readRequest, type ReadLimits } from './read-request.ts'
import { refuseDots } from './refuse-dots.ts'
import type { LiveTable } from './routing-table.ts'
import { serve, type ServeDeps } from './serve.ts'
import { upgradeHandler, type UpgradeDeps } from './upgrade.ts'
import { WaitingRoom } from './waiting-room.ts'

export interface InferenceDeps {
  table: LiveTable
  clock: Clock
  log: Logger
  /** Who this gateway is, in its decisions. */
  gatewayId?: string
  /** Whether answers tell which node and replica gave them; off, because that is nobody's business by default. */
  exposeNode?: boolean
  /** A replica that was not heard for longer is asked whether it lives before it is sent anything; 0 asks none. */
  probeTtlMs?: number
  waitingRoom?: WaitingRoom
  limits?: Partial<ReadLimits>
}

export interface InferenceApi {
  (request: IncomingMessage, response: ServerResponse, caller: Caller): Promise<void>
  readonly decisions: Pick<Decisions, 'find'>
  /** For those who want to speak WebSocket: they wait in the same room and learn from the same failures. */
  upgrades(allow: UpgradeDeps['allow']): UpgradeHandler
  dispose(): void
}

/**
 * Serves everything under `/v1/`. Whatever is posted there takes the same way, by the model that it names: there is no
 * list of paths, so none can be forgotten by the counting of requests in flight.
 */
export function inferenceApi(deps: InferenceDeps): InferenceApi {
  const { table, clock, log, exposeNode = false } = deps
  const waitingRoom = deps.waitingRoom ?? new WaitingRoom(clock)
  const decisions = new Decisions(deps.gatewayId ?? 'gateway')
  const liveness = new Liveness({ table, clock, log, probe, ttlMs: deps.probeTtlMs })
  const pool = new ConnectionPool()
  const serveDeps: ServeDeps = { table, liveness, pool, clock, log, exposeNode }

  const handler = async (request: IncomingMessage, response: ServerResponse, caller: Caller): Promise<void> => {
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
    request: IncomingMessage,
    response: ServerResponse,
    caller: Caller,
    path: string,
    requestId: string,
  ): Promise<void> => {
    const decision = newDecision(requestId, path, caller, clock.nowMs())
    const { signal: gone, stop } = goneSignal(request)
    try {
      refuseDots(path)
      const { body, model, sessionKey } = await readRequest(request, deps.limits)
      decision.model = model
      decision.policy = findReadyModel(table, model, caller).routePolicy
      const readMs = clock.nowMs()
      const leave = await waitingRoom.enter(model, gone)
      try {
        decision.queuedMs = clock.nowMs() - readMs
        const style = apiStyle(path)
        await serve(serveDeps, { request, response, body, model, sessionKey, style, gone, decision })
      } finally {
        leave()
      }
    } catch (thrown) {
      const error = toAppError(thrown)
      const isGone = gone.aborted || error.code === 'client_gone'
      decision.status = isGone ? CLIENT_GONE : error.status
      if (error.code === 'internal') log.error({ err: thrown, request: requestId, path }, 'gateway: a request failed')
      if (!isGone) sendOwnError(request, response, error, requestId)
    } finally {
      stop()
      decision.endedMs = clock.nowMs()
      decisions.keep(decision)
    }
  }
  return Object.assign(handler, {
    decisions,
    upgrades: (allow: UpgradeDeps['allow']) => upgradeHandler({ table, liveness, waitingRoom, clock, log, allow }),
    dispose: () => pool.destroy(),
  })
}

/** In no answer, because there is nobody to read one. */
const CLIENT_GONE = new AppError('client_gone', '').status

/** The client's own, so that it finds its request in our records; else one that nobody else has. */
function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && /^[\x20-\x7e]{1,128}$/.test(given) ? given : randomUUID()
}

function newDecision(requestId: string, path: string, caller: Caller, nowMs: number): Decision {
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
    queuedMs: 0,
    status: 0,
    endedMs: nowMs,
  }
}

/** The connection is looked at: a response that waits for an earlier one on it is not told that the client has gone. */
function goneSignal({ socket }: IncomingMessage): { signal: AbortSignal; stop: () => void } {
  const gone = new AbortController()
  const onClose = (): void => gone.abort()
  if (socket.destroyed) onClose()
  socket.once('close', onClose)
  return { signal: gone.signal, stop: () => void socket.off('close', onClose) }
}

function sendOwnError(request: IncomingMessage, response: ServerResponse, error: AppError, requestId: string): void {
  if (!response.headersSent) response.setHeader('x-request-id', requestId)
  sendApiError(request, response, error)
}
