import { MODEL_HEADER } from '../../api/data-port.ts'
import { AppError } from '../../platform/errors.ts'
import type { HttpRequest } from '../../http/exchange.ts'
import { bearerToken } from '../../http/server.ts'
import { sameSecret } from '../../platform/secrets.ts'

/** A replica as the data port sees it. */
export interface ServedReplica {
  readonly spec: { readonly generation: number; readonly model_name: string }
  readonly key: string
  readonly state: string
  /** Undefined as soon as the engine is gone, so that a later owner of the port never gets its requests. */
  readonly port: number | undefined
  /** The name by which the engine knows the model, when it differs. */
  readonly requestModel?: string | undefined
  /** Counts one request. The returned function ends it; further calls do nothing. */
  beginRequest(): () => void
}

export interface Replicas {
  find(id: string): ServedReplica | undefined
}

interface Target {
  id: string
  replica: ServedReplica
  /** The path at the engine. */
  path: string
}

/** The ready replica that a request names, and the path at its engine. */
export function findTarget(request: HttpRequest, replicas: Replicas): Target {
  const { id, generation, path } = parseTarget(request)
  const replica = findReplica(replicas.find(id), id, generation)
  checkModel(request, replica)
  checkState(replica)
  return { id, replica, path }
}

export function checkKey(request: HttpRequest, dataKey: string | undefined): void {
  const token = bearerToken(request)
  if (token !== undefined && dataKey !== undefined && sameSecret(token, dataKey)) return
  const text = 'The data port needs the data key of this node (Authorization: Bearer <key>), which gateways are given.'
  throw new AppError('unauthorized', token === undefined ? text : `The key is wrong. ${text}`)
}

/** Reads the replica and the path out of the URL. */
export function parseTarget(request: HttpRequest): { id: string; generation: number; path: string } {
  const match = /^\/replicas\/([^/]+)\/(\d{1,16})(\/.*)$/.exec(request.url ?? '')
  if (!match) throw notServed()
  return { id: match[1]!, generation: Number(match[2]), path: match[3]! }
}

export function notServed(): AppError {
  return new AppError('not_found', 'The data port serves /replicas/<id>/<generation>/… only.')
}

function findReplica(replica: ServedReplica | undefined, id: string, generation: number): ServedReplica {
  if (replica?.spec.generation === generation) return replica
  const text = replica
    ? `Replica ${id} runs on this node in generation ${replica.spec.generation}, not ${generation}.`
    : `There is no replica ${id} on this node.`
  throw new AppError('not_found', text)
}

/**
 * A request that names a model must name this replica's. One that does not is fine: its URL names the replica in full.
 */
function checkModel(request: HttpRequest, { key, spec }: ServedReplica): void {
  if (request.headers[MODEL_HEADER] === encodeURIComponent(spec.model_name)) return
  const meant = modelNameIn(request)
  if (meant === undefined || meant === spec.model_name) return
  throw new AppError('conflict', `Replica ${key} serves the model "${spec.model_name}", not "${meant}".`)
}

/** The model that the request names, if any. */
export function modelNameIn({ headers }: HttpRequest): string | undefined {
  const header = headers[MODEL_HEADER]
  if (header === undefined) return undefined
  try {
    return decodeURIComponent(String(header))
  } catch {
    throw new AppError('bad_request', `The header ${MODEL_HEADER} is not a percent-encoded name.`)
  }
}

function checkState({ key, state, port }: ServedReplica): void {
  if (state === 'ready' && port !== undefined) return
  if (state === 'draining' || state === 'stopping') {
    throw new AppError('unavailable', `Replica ${key} is ${state} and takes no new requests.`, { details: { state } })
  }
  throw new AppError('model_not_ready', `Replica ${key} is ${state}, not ready.`, { details: { state } })
}
