import type { IncomingMessage, ServerResponse } from 'node:http'
import { MODEL_HEADER, REFUSAL_HEADER } from '../api/data-port.ts'
import { isLoopback } from '../platform/address.ts'
import { AppError } from '../platform/errors.ts'
import type { ExchangeHandler, HttpRequest, HttpResponse } from '../platform/exchange.ts'
import { sendHealth, type Check } from '../platform/health.ts'
import { pathOf, readBody, type Handler, type UpgradeHandler } from '../platform/http.ts'
import { forward } from '../platform/proxy.ts'
import { answerOnSocket } from '../platform/socket-answer.ts'
import { forwardUpgrade } from '../platform/upgrade-proxy.ts'
import { refuse } from './data-port/refuse.ts'
import { replaceModel } from './data-port/replace-model.ts'
import { checkKey, findTarget, notServed, type Replicas, type ServedReplica } from './data-port/target.ts'

export interface DataPortOptions {
  replicas: Replicas
  /** Undefined until this node has one. */
  dataKey: () => string | undefined
  checks: Record<string, Check>
  /** More to serve behind the same key. Says whether the path, which comes without its query, is one of its own. */
  extra?: (request: IncomingMessage, response: ServerResponse, path: string) => Promise<boolean>
}

/** As much is held of a body in which the model's name must be replaced. Others are streamed, however long. */
const MOST_BODY_BYTES = 64 * 1024 * 1024

/**
 * The one way to an engine: `/replicas/<id>/<generation>/<path>` with this node's data key. The replica is named in
 * full, so a port that now belongs to another replica can never answer for the one that was meant. Besides, who is on
 * this machine may ask how the worker is.
 */
export function dataPortHandler(options: DataPortOptions): Handler {
  const { dataKey, checks, extra } = options
  const health = healthHandler(checks)
  const replica = replicaHandler(options)
  return (request, response) => {
    const path = pathOf(request)
    if (path.startsWith(REPLICAS_PREFIX)) return replica(request, response)
    return orRefuse(request, response, async () => {
      const isLocal = isLoopback(request.socket.remoteAddress ?? '')
      if (isLocal && (path === '/healthz' || path === '/readyz')) return await health(request, response)
      checkKey(request, dataKey())
      if (!extra || !(await extra(request, response, path))) throw notServed()
    })
  }
}

/** What every path of a replica begins with. */
export const REPLICAS_PREFIX = '/replicas/'

/** The part of it that is for replicas. */
export function replicaHandler({ replicas, dataKey }: Pick<DataPortOptions, 'replicas' | 'dataKey'>): ExchangeHandler {
  return (request, response) =>
    orRefuse(request, response, async () => {
      checkKey(request, dataKey())
      const { replica, path } = findTarget(request, replicas)
      const done = replica.beginRequest()
      try {
        await forwardToEngine(request, response, replica, path)
      } finally {
        done()
      }
    })
}

async function orRefuse(request: HttpRequest, response: HttpResponse, serve: () => Promise<void>): Promise<void> {
  try {
    await serve()
  } catch (error) {
    if (!(error instanceof AppError) || response.headersSent) throw error
    refuse(request, response, error)
  }
}

/** The same way for those who want to speak WebSocket with an engine. It counts for as long as the connection is open. */
export function dataPortUpgrades({ replicas, dataKey }: Pick<DataPortOptions, 'replicas' | 'dataKey'>): UpgradeHandler {
  return async (request, socket, head) => {
    try {
      checkKey(request, dataKey())
      const { replica, path } = findTarget(request, replicas)
      const done = replica.beginRequest()
      try {
        const target = engineAt(replica.port!, renamed(path, replica.requestModel))
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

/** `/healthz` and `/readyz`, for anybody who can connect. */
export function healthHandler(checks: Record<string, Check>): Handler {
  return (request, response) => {
    const path = pathOf(request)
    if (path !== '/healthz' && path !== '/readyz') {
      throw new AppError('not_found', 'There are /healthz and /readyz here, and nothing else.')
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new AppError('method_not_allowed', `${path} takes GET and HEAD only.`)
    }
    sendHealth(path, response, checks)
  }
}

async function forwardToEngine(
  request: HttpRequest,
  response: HttpResponse,
  replica: ServedReplica,
  path: string,
): Promise<void> {
  const { requestModel } = replica
  const body = requestModel !== undefined && mayBeJson(request) ? await bodyFor(request, requestModel) : undefined
  // Asked for again: the engine may have ended while the body came in.
  const { port } = replica
  if (port === undefined) throw new AppError('bad_gateway', `The engine of ${replica.key} has ended.`)
  const result = await forward(request, response, engineAt(port, path), body)
  if (result.outcome !== 'unreachable') return
  throw noAnswer(replica, result.error)
}

function noAnswer({ key }: ServedReplica, cause: Error): AppError {
  return new AppError('bad_gateway', `The engine of ${key} did not answer: ${cause.message}.`, { cause })
}

/** Without a body, the model is named in the query. */
function renamed(path: string, requestModel: string | undefined): string {
  const url = new URL(path, 'http://engine')
  if (requestModel === undefined || !url.searchParams.has('model')) return path
  url.searchParams.set('model', requestModel)
  return `${url.pathname}${url.search}`
}

/**
 * No connection is kept: llama-server closes those it has promised to keep once a stream is over, and a request that is
 * just on its way is then lost. A new one on loopback takes a fraction of a millisecond.
 */
function engineAt(port: number, path: string): Parameters<typeof forward>[2] {
  // The data key is for us, and so is the model's name; whoever waits for a "100 Continue" has had ours.
  const forUs = { authorization: undefined, [MODEL_HEADER]: undefined, expect: undefined }
  return { host: '127.0.0.1', port, path, headers: { host: `127.0.0.1:${port}`, ...forUs } }
}

/**
 * By its type, a body may be JSON. Clients are careless with that, so whatever has no type that rules it out is looked
 * into. Forms with files in them are not: they are streamed, and their field "model" stays as it is.
 */
function mayBeJson({ headers }: HttpRequest): boolean {
  const isEmpty = headers['content-length'] === undefined && headers['transfer-encoding'] === undefined
  const type = headers['content-type'] ?? ''
  return !isEmpty && !/^\s*(multipart|audio|image|video)\/|octet-stream/i.test(type)
}

async function bodyFor(request: HttpRequest, requestModel: string): Promise<Buffer> {
  return replaceModel(await readBody(request, MOST_BODY_BYTES), requestModel)
}
