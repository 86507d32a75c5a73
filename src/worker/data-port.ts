import type { IncomingMessage, ServerResponse } from 'node:http'
import { MODEL_HEADER } from '../api/data-port.ts'
import { isLoopback } from '../platform/address.ts'
import { AppError } from '../platform/errors.ts'
import { sendHealth, type Check } from '../platform/health.ts'
import { bearerToken, pathOf, readBody, type Handler } from '../platform/http.ts'
import { forward } from '../platform/proxy.ts'
import { sameSecret } from '../platform/secrets.ts'
import { refuse } from './data-port/refuse.ts'
import { replaceModel } from './data-port/replace-model.ts'

/** A replica as the data port sees it. */
export interface ServedReplica {
  readonly spec: { readonly generation: number; readonly model_name: string }
  readonly key: string
  readonly state: string
  /** Undefined as soon as the engine is gone, so that nobody who has it next is asked in its stead. */
  readonly port: number | undefined
  /** The name that the engine knows the model by, when that is another. */
  readonly requestModel?: string | undefined
  /** Counts one request; the returned function gives it back, once. */
  beginRequest(): () => void
}

export interface DataPortOptions {
  replicas: { find(id: string): ServedReplica | undefined }
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
export function dataPortHandler({ replicas, dataKey, checks, extra }: DataPortOptions): Handler {
  const health = healthHandler(checks)
  return async (request, response) => {
    try {
      const path = pathOf(request)
      const isLocal = isLoopback(request.socket.remoteAddress ?? '')
      if (isLocal && (path === '/healthz' || path === '/readyz')) return await health(request, response)
      checkKey(request, dataKey())
      if (extra && !path.startsWith('/replicas/') && (await extra(request, response, path))) return
      await serve(request, response)
    } catch (error) {
      if (!(error instanceof AppError) || response.headersSent) throw error
      refuse(request, response, error)
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { id, generation, path } = parseTarget(request)
    const replica = findReplica(replicas.find(id), id, generation)
    checkModel(request, replica)
    checkState(replica)
    if (request.headers.upgrade !== undefined) {
      const text = 'The data port speaks plain HTTP only: it cannot switch to another protocol (Upgrade).'
      throw new AppError('not_implemented', text)
    }
    const done = replica.beginRequest()
    try {
      await forwardToEngine(request, response, replica, path)
    } finally {
      done()
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

function checkKey(request: IncomingMessage, dataKey: string | undefined): void {
  const token = bearerToken(request)
  if (token !== undefined && dataKey !== undefined && sameSecret(token, dataKey)) return
  const text = 'The data port needs the data key of this node (Authorization: Bearer <key>), which gateways are given.'
  throw new AppError('unauthorized', token === undefined ? text : `The key is wrong. ${text}`)
}

function parseTarget(request: IncomingMessage): { id: string; generation: number; path: string } {
  const match = /^\/replicas\/([^/]+)\/(\d{1,16})(\/.*)$/.exec(request.url ?? '')
  if (!match) throw new AppError('not_found', 'The data port serves /replicas/<id>/<generation>/… only.')
  return { id: match[1]!, generation: Number(match[2]), path: match[3]! }
}

function findReplica(replica: ServedReplica | undefined, id: string, generation: number): ServedReplica {
  if (replica?.spec.generation === generation) return replica
  const text = replica
    ? `Replica ${id} runs on this node in generation ${replica.spec.generation}, not ${generation}.`
    : `There is no replica ${id} on this node.`
  throw new AppError('not_found', text)
}

/** Whoever does not say which model is meant has named the replica in full, and that is enough. */
function checkModel(request: IncomingMessage, { key, spec }: ServedReplica): void {
  const header = request.headers[MODEL_HEADER]
  if (header === undefined || header === encodeURIComponent(spec.model_name)) return
  let meant: string
  try {
    meant = decodeURIComponent(String(header))
  } catch {
    throw new AppError('bad_request', `The header ${MODEL_HEADER} is not a percent-encoded name.`)
  }
  if (meant === spec.model_name) return
  throw new AppError('conflict', `Replica ${key} serves the model "${spec.model_name}", not "${meant}".`)
}

function checkState({ key, state, port }: ServedReplica): void {
  if (state === 'ready' && port !== undefined) return
  if (state === 'draining' || state === 'stopping') {
    throw new AppError('unavailable', `Replica ${key} is ${state} and takes no new requests.`, { details: { state } })
  }
  throw new AppError('model_not_ready', `Replica ${key} is ${state}, not ready.`, { details: { state } })
}

async function forwardToEngine(
  request: IncomingMessage,
  response: ServerResponse,
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
  const text = `The engine of ${replica.key} did not answer: ${result.error.message}.`
  throw new AppError('bad_gateway', text, { cause: result.error })
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
function mayBeJson({ headers }: IncomingMessage): boolean {
  const isEmpty = headers['content-length'] === undefined && headers['transfer-encoding'] === undefined
  const type = headers['content-type'] ?? ''
  return !isEmpty && !/^\s*(multipart|audio|image|video)\/|octet-stream/i.test(type)
}

async function bodyFor(request: IncomingMessage, requestModel: string): Promise<Buffer> {
  return replaceModel(await readBody(request, MOST_BODY_BYTES), requestModel)
}
