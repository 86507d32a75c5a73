import type { Agent as HttpAgent, IncomingMessage, ServerResponse } from 'node:http'
import { MODEL_HEADER, REFUSAL_HEADER, replicaPath } from '../api/data-port.ts'
import { nearNames } from '../core/lib/near-names.ts'
import { pick } from '../core/routing/pick.ts'
import { hostAndPort } from '../platform/address.ts'
import type { Clock } from '../platform/clock.ts'
import { AppError } from '../platform/errors.ts'
import { parseJson, pathOf, readBody, sendJson, type Handler } from '../platform/http.ts'
import type { Logger } from '../platform/log.ts'
import { Agent } from '../platform/node-http.ts'
import { forward } from '../platform/proxy.ts'
import { matchRoute } from '../platform/routes.ts'
import type { LiveRoute, LiveTable } from './routing-table.ts'

export interface InferenceDeps {
  table: LiveTable
  clock: Clock
  log: Logger
}

/** Prompts with images can be long; anything longer than this is a mistake or an attack. */
const MOST_BODY_BYTES = 32 * 1024 * 1024
/** A request is tried on this many replicas before its failure is told. */
const MOST_TRIES = 3
const NOT_READY_RETRY_S = 2

/** Serves everything under `/v1/`. Every request that names a model takes the same way, so none escapes the in-flight count. */
export function inferenceApi(deps: InferenceDeps): Handler & { dispose(): void } {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 256 })
  const handler: Handler = async (request, response) => {
    const path = pathOf(request)
    if (path === '/v1/models' || path === '/v1/models/') return listModels(deps.table, request, response)
    if (path.startsWith('/v1/models/')) return showModel(deps.table, path, response)
    if (request.method !== 'POST') throw new AppError('not_found', `There is nothing to ${request.method} at ${path}.`)
    const body = await readBody(request, MOST_BODY_BYTES)
    await serve(deps, agent, request, response, modelOf(body), body)
  }
  return Object.assign(handler, { dispose: () => agent.destroy() })
}

/** Tries the best replica, then the next best for as long as nothing has reached the client. */
async function serve(
  { table, clock, log }: InferenceDeps,
  agent: HttpAgent,
  request: IncomingMessage,
  response: ServerResponse,
  modelName: string,
  body: Buffer,
): Promise<void> {
  const tried = new Set<string>()
  let lastError: Error | undefined
  while (tried.size < MOST_TRIES) {
    const candidates = table.routesOf(modelName).filter((route) => !tried.has(route.replicaId))
    const route = pick(candidates, (candidate) => table.loadOf(candidate)) as LiveRoute | undefined
    if (!route) break
    tried.add(route.replicaId)
    const done = table.begin(route, clock.nowMs())
    try {
      const result = await forward(request, response, upstreamOf(route, request, agent), body)
      if (result.outcome === 'broken')
        log.warn({ replica: route.replicaId, node: route.nodeName }, 'gateway: an answer broke off')
      if (result.outcome !== 'unreachable') return
      lastError = result.error
      log.warn(
        { replica: route.replicaId, node: route.nodeName, error: lastError.message },
        'gateway: replica unreachable',
      )
    } finally {
      done()
    }
  }
  throw lastError ? unreachable(modelName, tried.size, lastError) : notServed(table, modelName)
}

function upstreamOf(route: LiveRoute, request: IncomingMessage, agent: HttpAgent): Parameters<typeof forward>[2] {
  const address = hostAndPort(route.address)
  if (!address)
    throw new AppError('internal', `Node ${route.nodeName} has the address "${route.address}", which is none.`)
  return {
    ...address,
    path: `${replicaPath(route.replicaId, route.generation)}${request.url ?? ''}`,
    headers: {
      host: route.address,
      // The client's key is for us; the node's data port has its own.
      authorization: `Bearer ${route.dataKey}`,
      [MODEL_HEADER]: encodeURIComponent(route.modelName),
      expect: undefined,
    },
    agent,
    lastWords: brokenStream(route),
    isRefusal: (answer) => REFUSAL_HEADER in answer.headers,
  }
}

function brokenStream(route: LiveRoute): string {
  const message = `The replica on ${route.nodeName} stopped in the middle of this answer.`
  const { error } = new AppError('bad_gateway', message).toBody()
  return `data: ${JSON.stringify({ error })}\n\n`
}

function unreachable(modelName: string, tries: number, cause: Error): AppError {
  const replicas = tries === 1 ? 'Its replica' : `${tries} of its replicas`
  const text = `Model "${modelName}" cannot be reached: ${replicas} did not answer. Flotilla replaces lost replicas by itself; try again.`
  return new AppError('bad_gateway', text, { cause, retryAfterS: NOT_READY_RETRY_S })
}

function notServed(table: LiveTable, modelName: string): AppError {
  if (!table.hasSnapshot()) {
    const text =
      'This gateway has not yet heard from the control plane which replicas there are. Try again in a moment.'
    return new AppError('unavailable', text, { retryAfterS: NOT_READY_RETRY_S })
  }
  if (table.hasModel(modelName)) {
    const text = `Model "${modelName}" has no ready replica. It may be starting; GET /api/replicas shows its state and any error.`
    return new AppError('model_not_ready', text, { retryAfterS: NOT_READY_RETRY_S, details: { param: 'model' } })
  }
  const names = table.models().map(({ name }) => name)
  const near = nearNames(modelName, names)
  const hint =
    near.length > 0
      ? `Did you mean ${near.map((name) => `"${name}"`).join(' or ')}?`
      : 'GET /v1/models lists what there is.'
  return new AppError('model_not_found', `There is no model "${modelName}". ${hint}`, { details: { param: 'model' } })
}

function modelOf(body: Buffer): string {
  const parsed = parseJson(body)
  const model = typeof parsed === 'object' && parsed !== null ? (parsed as { model?: unknown }).model : undefined
  if (typeof model === 'string' && model !== '') return model
  throw new AppError(
    'bad_request',
    'The body must be a JSON object with a "model": the name of a model, as a string.',
    {
      details: { param: 'model' },
    },
  )
}

function listModels(table: LiveTable, request: IncomingMessage, response: ServerResponse): void {
  if (request.method !== 'GET') throw new AppError('method_not_allowed', '/v1/models takes GET only.')
  const data = table.models().map((model) => viewModel(table, model.name, model.createdAtMs))
  sendJson(response, 200, { object: 'list', data })
}

function showModel(table: LiveTable, path: string, response: ServerResponse): void {
  const match = matchRoute([{ method: 'GET', path: '/v1/models/:name' }], 'GET', path)
  if (!('route' in match)) throw new AppError('not_found', `There is nothing at ${path}.`)
  const name = match.params['name']!
  const model = table.models().find((candidate) => candidate.name === name)
  if (!model) throw notServed(table, name)
  sendJson(response, 200, viewModel(table, model.name, model.createdAtMs))
}

function viewModel(table: LiveTable, id: string, createdAtMs: number): object {
  const ready = table.routesOf(id).length
  return { id, object: 'model', created: Math.floor(createdAtMs / 1000), owned_by: 'flotilla', ready_replicas: ready }
}
