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
  /** Undefined as soon as the engine is gone, so that nobody who has it next is asked in its stead. */
  readonly port: number | undefined
  /** The name that the engine knows the model by, when that is another. */
  readonly requestModel?: string | undefined
  /** Counts one request; the returned function gives it back, once. */
  beginRequest(): () => void
}

export interface Replicas {
  find(id: string): ServedReplica | undefined
}

interface Target {
  id: string
  replica: ServedReplica
  /** At its engine. */
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

/** What the path names. */
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

/** Whoever does not say which model is meant has named the replica in full, and that is enough. */
function checkModel(request: HttpRequest, { key, spec }: ServedReplica): void {
  if (request.headers[MODEL_HEADER] === encodeURIComponent(spec.model_name)) return
  const meant = modelNameIn(request)
  if (meant === undefined || meant === spec.model_name) return
  throw new AppError('conflict', `Replica ${key} serves the model "${spec.model_name}", not "${meant}".`)
}

/** The model that is meant, if that is said. */
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
