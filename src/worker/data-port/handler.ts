import type { IncomingMessage, ServerResponse } from 'node:http'
import { REFUSAL_HEADER, REPLICAS_PREFIX, RUN_PATH } from '../../api/data-port.ts'
import { RUN_HEADER } from '../../api/node-run.ts'
import { isLoopback } from '../../platform/address.ts'
import type { ConnectionPool } from '../../http/upstream/connection-pool.ts'
import { AppError } from '../../platform/errors.ts'
import type { ExchangeHandler, HttpRequest, HttpResponse } from '../../http/exchange.ts'
import { sendHealth, type Check } from '../../http/server/health.ts'
import { sendMetrics } from '../../platform/metrics/exposition.ts'
import { pathOf, type Handler, type UpgradeHandler } from '../../http/server.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import type { Tracer } from '../../platform/tracing/tracer.ts'
import type { Shortcut } from '../../http/fast/path/fast-path.ts'
import { answerOnSocket } from '../../http/server/socket-answer.ts'
import { notForSocketEngines } from '../../http/upstream/passed-headers.ts'
import { forwardUpgrade } from '../../http/upstream/upgrade-proxy.ts'
import { callEngine, engineAt, noAnswer } from './engine-call.ts'
import { EngineTrace } from './engine-trace.ts'
import { refuse } from './refuse.ts'
import { engineShortcut } from './fast-call.ts'
import type { WorkerCounts } from '../report/worker-metrics.ts'
import { checkKey, findTarget, notServed, type Replicas } from './target.ts'

export interface DataPortOptions {
  replicas: Replicas
  /** Undefined until this node has a key. */
  dataKey: () => string | undefined
  checks: Record<string, Check>
  /** Keeps connections to engines. Without it each request opens its own. */
  pool?: ConnectionPool | undefined
  /** Counts the requests and answers that pass. */
  counts?: Pick<WorkerCounts, 'meter'> | undefined
  /** Absent when tracing is off. */
  tracer?: Tracer | undefined
  /** Serves this process's metrics to callers on this machine, or with the key. */
  metrics?: Metrics | undefined
  /** Identifies this run of the worker. */
  runId?: string | undefined
  /** More routes behind the same key. Returns whether it has answered the path, which comes without its query. */
  extra?: (request: IncomingMessage, response: ServerResponse, path: string) => Promise<boolean>
}

/**
 * The only way to an engine: `/replicas/<id>/<generation>/<path>` with this node's data key. The replica is named in
 * full, so a port that now belongs to another replica can never answer for the intended one. Callers on this machine
 * may also ask for health and metrics.
 */
export function dataPortHandler(options: DataPortOptions): Handler {
  const { dataKey, checks, metrics, runId, extra } = options
  const health = healthHandler(checks)
  const replica = replicaHandler(options)
  return async (request, response) => {
    const path = pathOf(request)
    if (path.startsWith(REPLICAS_PREFIX)) return replica(request, response)
    try {
      const isLocal = isLoopback(request.socket.remoteAddress ?? '')
      if (isLocal && (path === '/healthz' || path === '/readyz')) return await health(request, response)
      if (!(isLocal && path === '/metrics')) checkKey(request, dataKey())
      if (metrics && path === '/metrics') return sendMetrics(metrics, request, response)
      if (runId !== undefined && path === RUN_PATH) return void response.writeHead(204, { [RUN_HEADER]: runId }).end()
      if (!extra || !(await extra(request, response, path))) throw notServed()
    } catch (error) {
      refuseOrThrow(request, response, error)
    }
  }
}

/** The routes of replicas. */
export function replicaHandler({
  replicas,
  dataKey,
  pool,
  counts,
  tracer,
}: Pick<DataPortOptions, 'replicas' | 'dataKey' | 'pool' | 'counts' | 'tracer'>): ExchangeHandler {
  return (request, response) => {
    let target: ReturnType<typeof findTarget>
    try {
      checkKey(request, dataKey())
      target = findTarget(request, replicas)
    } catch (error) {
      return refuseOrThrow(request, response, error)
    }
    const { id, replica, path } = target
    // Other methods only ask about the engine; they are not work.
    const meter = request.method === 'POST' ? counts?.meter(id, replica.spec.model_name) : undefined
    const place = tracer?.follow(request.headers['traceparent'])
    const trace = place && new EngineTrace(tracer!, place, { id, modelName: replica.spec.model_name })
    return callEngine(request, response, replica, path, pool, { meter, trace })
  }
}

/** The fast path to a replica. There is none when requests are traced, or when connections to engines are not kept. */
export function replicaShortcut({
  replicas,
  dataKey,
  pool,
  counts,
  tracer,
}: DataPortOptions): () => Shortcut | undefined {
  const shortcut = pool && !tracer ? engineShortcut({ replicas, dataKey, pool, counts }) : undefined
  return () => shortcut
}

function refuseOrThrow(request: HttpRequest, response: HttpResponse, error: unknown): void {
  if (!(error instanceof AppError) || response.headersSent) throw error
  refuse(request, response, error)
}

/** The same for WebSocket and other upgrades. One counts as a request for as long as its connection is open. */
export function dataPortUpgrades({ replicas, dataKey }: Pick<DataPortOptions, 'replicas' | 'dataKey'>): UpgradeHandler {
  return async (request, socket, head) => {
    try {
      checkKey(request, dataKey())
      const { replica, path } = findTarget(request, replicas)
      const done = replica.beginRequest()
      try {
        const target = engineAt(replica.port!, renamed(path, replica.requestModel), undefined, SOCKET_HEADERS)
        const result = await forwardUpgrade(request, socket, head, target)
        if (result.outcome === 'unreachable') throw noAnswer(replica, result.error)
      } finally {
        done()
      }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      answerOnSocket(socket, error, { [REFUSAL_HEADER]: '1' })
    }
  }
}

const SOCKET_HEADERS = notForSocketEngines()

/** Decides who may open a mux connection: any client, since each request on it is checked for the key again. */
export function dataPortCables({ dataKey }: Pick<DataPortOptions, 'dataKey'>): (request: HttpRequest) => void {
  return (request) => checkKey(request, dataKey())
}

/** `/healthz` and `/readyz`, open to everyone who can connect. */
export function healthHandler(checks: Record<string, Check>): Handler {
  return (request, response) => {
    const path = pathOf(request)
    if (path !== '/healthz' && path !== '/readyz') {
      throw new AppError('not_found', 'There are /healthz and /readyz here, and nothing else.')
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new AppError('method_not_allowed', `${path} takes GET and HEAD only.`, { allow: ['GET', 'HEAD'] })
    }
    sendHealth(path, response, checks)
  }
}

/** Replaces the model in the query, where requests without a body name it. */
function renamed(path: string, requestModel: string | undefined): string {
  const url = new URL(path, 'http://engine')
  if (requestModel === undefined || !url.searchParams.has('model')) return path
  url.searchParams.set('model', requestModel)
  return `${url.pathname}${url.search}`
}
