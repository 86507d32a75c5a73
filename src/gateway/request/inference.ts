import { NobodyListensError, type Bus } from '../../bus/bus.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { toAppError } from '../../platform/errors.ts'
import type { HttpRequest, HttpResponse } from '../../http/exchange.ts'
import { pathOf, type UpgradeHandler } from '../../http/server.ts'
import type { Logger } from '../../platform/run/log.ts'
import { RepeatedLines } from '../../platform/run/repeated-lines.ts'
import { ConnectionPool } from '../../http/upstream/connection-pool.ts'
import { forward, type Forward } from '../../http/proxy.ts'
import type { Tracer } from '../../platform/tracing/tracer.ts'
import type { Shortcut } from '../../http/fast/path/fast-path.ts'
import { ClientTls } from '../../platform/tls/client-tls.ts'
import { sendApiError } from '../access/api-errors.ts'
import { notPosted } from './api-paths.ts'
import { ColdLoads } from '../cold/cold-loads.ts'
import { Decisions } from '../records/decisions.ts'
import type { Decision } from '../records/decision.ts'
import type { Caller, GuardDeps } from '../access/guard.ts'
import { infer, type InferDeps } from './infer.ts'
import { Liveness } from '../health/liveness.ts'
import { answerModels, isModelsPath } from './models-api.ts'
import { ollamaApi, type OllamaApi } from '../ollama/ollama-api.ts'
import { probe, probeNode, type Probe } from '../health/probe.ts'
import type { ReadLimits } from '../access/body-room.ts'
import { requestIdOf } from './request-id.ts'
import type { LiveRoute, LiveTable } from '../table/routing-table.ts'
import type { ServeDeps } from '../deliver/exchange.ts'
import { serveWhenReady, type ReadyDeps } from '../deliver/serve-when-ready.ts'
import { inferenceShortcut } from './fast-path.ts'
import { Silence, type SilenceDeps } from '../health/stalled-requests.ts'
import { UnreachableNodes } from '../health/unreachable-nodes.ts'
import { upgradeHandler, type UpgradeDeps } from './upgrade.ts'
import { WaitingRoom } from '../deliver/waiting-room.ts'

export interface InferenceDeps {
  table: LiveTable
  /** Carries requests to load a model; without it, models without a replica cannot be loaded. */
  bus?: Pick<Bus, 'request'>
  clock: Clock
  log: Logger
  /** The name of this gateway in its decisions. */
  gatewayId?: string
  /** Whether answers name the node and replica that gave them. Off by default, because clients need not know. */
  exposeNode?: boolean
  /** A replica that was silent for longer is probed before a request; 0 probes none. */
  probeTtlMs?: number
  waitingRoom?: WaitingRoom
  /** How long a request waits for its model to be loaded; Infinity waits without limit. */
  modelLoadWaitMs?: number | undefined
  /** How long an engine may take to begin its answer; Infinity sets no limit. */
  answerWaitMs?: number | undefined
  limits?: Partial<ReadLimits>
  network?: Network | undefined
  /** Connects to data ports that are encrypted. */
  tls?: ClientTls
  /** Missing where tracing is off. */
  tracer?: Tracer | undefined
}

/** How replicas are reached; the simulator passes its own. */
export interface Network {
  forward: Forward
  probe: Probe
  /** Why the node of a replica does not answer; undefined when it does. */
  askNode: SilenceDeps['askNode']
}

function sockets(tls: ClientTls): Network {
  return { forward, probe: (route) => probe(route, tls), askNode: (route) => probeNode(route, tls) }
}

export interface InferenceApi {
  (request: HttpRequest, response: HttpResponse, caller: Caller): void
  /** The same models through Ollama's API. */
  readonly ollama: OllamaApi
  readonly decisions: Pick<Decisions, 'find'>
  /** The fast path. There is none where requests are traced, or do not use sockets. */
  shortcut(guard: GuardDeps): Shortcut | undefined
  /** Calls the listener for every request that has ended. */
  onEnded(listener: (decision: Decision) => void): void
  /** Calls the listener for every replica that is ejected. */
  onEjected(listener: (route: LiveRoute) => void): void
  /** Nodes that this gateway cannot connect to; `onUnreachable` calls the listener when they change. */
  readonly unreachable: Pick<UnreachableNodes, 'list'>
  onUnreachable(listener: () => void): void
  /** Serves WebSockets. They share the waiting room and the health of replicas with other requests. */
  upgrades(allow: UpgradeDeps['allow']): UpgradeHandler
  dispose(): void
}

const MODEL_LOAD_WAIT_MS = 60_000

/**
 * Serves everything under `/v1/`. Every POST is routed by the model that it names, whatever its path: without a list of
 * paths, no path can be left out of the in-flight counts.
 */
export function inferenceApi(deps: InferenceDeps): InferenceApi {
  const { table, clock, log, exposeNode = false, tls = new ClientTls(), network = sockets(tls) } = deps
  const waitingRoom = deps.waitingRoom ?? new WaitingRoom(clock)
  const { bus = nobody, modelLoadWaitMs: waitMs = MODEL_LOAD_WAIT_MS } = deps
  const mostWaiting = waitingRoom.limits.waitingPerModel
  const coldLoads = new ColdLoads({ table, bus, clock, log, waitMs, mostWaiting })
  const readyDeps: ReadyDeps = { table, coldLoads, waitingRoom, clock }
  const decisions = new Decisions(deps.gatewayId ?? 'gateway')
  let onEjected: (route: LiveRoute) => void = () => {}
  let onUnreachable = (): void => {}
  const unreachable = new UnreachableNodes({
    table,
    clock,
    askNode: network.askNode,
    onChange: () => onUnreachable(),
  })
  const liveness = new Liveness({
    table,
    clock,
    log,
    probe: network.probe,
    ttlMs: deps.probeTtlMs,
    onEjected: (route) => onEjected(route),
    onUnreachable: (route) => unreachable.failed(route),
  })
  const pool = new ConnectionPool()
  let onEnded: (decision: Decision) => void = () => {}
  const silence = new Silence({ clock, log, askNode: network.askNode, answerWaitMs: deps.answerWaitMs })
  const lines = new RepeatedLines(clock)
  const serveDeps: ServeDeps = {
    table,
    liveness,
    silence,
    pool,
    tls,
    forward: network.forward,
    clock,
    log,
    lines,
    exposeNode,
  }

  const inferDeps: InferDeps = {
    table,
    clock,
    log,
    decisions,
    limits: deps.limits,
    readyDeps,
    serveDeps,
    tracer: deps.tracer,
  }

  const handler = (request: HttpRequest, response: HttpResponse, caller: Caller): void => {
    const requestId = requestIdOf(request)
    const path = pathOf(request)
    if (request.method === 'POST' && !isModelsPath(path)) {
      return infer(inferDeps, { request, response, caller, path, requestId, onEnded })
    }
    response.setHeader('x-request-id', requestId)
    try {
      if (!isModelsPath(path)) throw notPosted(request.method ?? 'GET', path)
      answerModels(table, request, response, path, caller)
    } catch (thrown) {
      sendApiError(request, response, toAppError(thrown))
    }
  }
  const whenReady = (model: string, caller: Caller, gone: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const ask = { model, caller, gone, waits: { loadWaitMs: 0, queuedMs: 0 } }
      const onDone = (error?: unknown): void => (error === undefined ? resolve() : reject(toAppError(error)))
      serveWhenReady(readyDeps, ask, (done) => done(), onDone)
    })
  return Object.assign(handler, {
    ollama: ollamaApi({ table, clock, limits: deps.limits, infer: handler, whenReady }),
    decisions,
    shortcut: (guard: GuardDeps) =>
      deps.tracer || deps.network
        ? undefined
        : inferenceShortcut({ ...inferDeps, guard, onEnded: (decision) => onEnded(decision) }),
    onEnded: (listener: (decision: Decision) => void) => void (onEnded = listener),
    onEjected: (listener: (route: LiveRoute) => void) => void (onEjected = listener),
    unreachable,
    onUnreachable: (listener: () => void) => void (onUnreachable = listener),
    upgrades: (allow: UpgradeDeps['allow']) => upgradeHandler({ ...readyDeps, liveness, silence, tls, log, allow }),
    dispose() {
      coldLoads.dispose()
      silence.dispose()
      unreachable.dispose()
      pool.destroy()
    },
  })
}

const nobody: Pick<Bus, 'request'> = {
  async request(name) {
    throw new NobodyListensError(name)
  },
}
