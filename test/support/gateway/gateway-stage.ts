import { onTestFinished } from 'vitest'
import type {
  RoutedKeyMessage,
  RoutedModelMessage,
  RouteMessage,
  RoutingSnapshotMessage,
} from '../../../src/api/bus/messages.ts'
import { REFUSAL_HEADER } from '../../../src/api/data-port.ts'
import { allowInference, type Caller } from '../../../src/gateway/access/guard.ts'
import { inferenceApi, type InferenceDeps } from '../../../src/gateway/request/inference.ts'
import { LiveTable } from '../../../src/gateway/table/routing-table.ts'
import { systemClock } from '../../../src/platform/run/clock.ts'
import type { ExchangeHandler } from '../../../src/http/exchange.ts'
import type { Handler, UpgradeHandler } from '../../../src/http/server.ts'
import { silentLogger } from '../../../src/platform/run/log.ts'
import type { Shortcut } from '../../../src/http/fast/path/fast-path.ts'
import { serve } from '../http/http.ts'

export const anyone: Caller = { keyId: null, models: null }

export function aRoutedModel(fields: Partial<RoutedModelMessage> = {}): RoutedModelMessage {
  return { name: 'm', engine: 'sim', created_at: 1_000_000, route_policy: 'least_loaded', state: 'ready', ...fields }
}

export function aRouteMessage(i: number, fields: Partial<RouteMessage> = {}): RouteMessage {
  const ids = { replica_id: `r${i}`, node_id: `n${i}`, node_name: `node${i}` }
  const address = '127.0.0.1:1'
  return { ...ids, generation: 7, model_name: 'm', address, data_key: `key${i}`, available_vram: null, ...fields }
}

export function aSnapshot(fields: Partial<RoutingSnapshotMessage> = {}): RoutingSnapshotMessage {
  return { feed: 'f', version: 1, models: [aRoutedModel()], routes: [], keys: [], ...fields }
}

export interface StageOptions extends Partial<InferenceDeps> {
  models?: RoutedModelMessage[]
  caller?: Caller
  /** What workers do with WebSockets, in their order. */
  upgrades?: UpgradeHandler[]
  /** Addresses in the place of those of workers, for replicas after them. */
  addresses?: string[]
  /** Their nodes were heard just now, so nobody is asked whether it lives. */
  isHeard?: boolean
  /** Callers are judged by these keys, as at the real door, instead of being `caller`. */
  keys?: RoutedKeyMessage[]
  /** What takes the place of the shortcut; undefined when there is to be none. */
  shortcut?: (shortcut: Shortcut | undefined) => Shortcut | undefined
}

/** A gateway in front of workers that answer as told; `m` is served by all of them, each as a replica r0, r1, … */
export async function aGateway(workers: Handler[], options: StageOptions = {}) {
  const { models = [aRoutedModel()], caller = anyone, addresses = [], upgrades = [], keys, ...rest } = options
  const { isHeard = true, shortcut: inPlace = (one) => one, ...deps } = rest
  const hosts = await Promise.all(
    workers.map(async (worker, i) => {
      const onUpgrade = upgrades[i]
      return new URL(await serve(worker, { allowCable: () => {}, ...(onUpgrade && { onUpgrade }) })).host
    }),
  )
  const routes = [...hosts, ...addresses].map((address, i) => aRouteMessage(i, { address }))
  const clock = deps.clock ?? systemClock
  const table = new LiveTable()
  table.replace(aSnapshot({ models, routes, keys: keys ?? [] }))
  const heard = isHeard ? routes.map((route) => route.node_id) : []
  table.apply({ feed: 'f', version: 1, from_version: 1, set: [], removed: [], heard }, clock.nowMs())
  // What is not there is not waited for, unless a test is about that.
  const api = inferenceApi({ table, clock, log: silentLogger, gatewayId: 'g1', modelLoadWaitMs: 1, ...deps })
  onTestFinished(() => api.dispose())
  const guard = { keys: table, clock, localInference: true }
  const handler: ExchangeHandler = (request, response) => {
    const asks = keys ? allowInference(request, guard) : caller
    return request.url?.startsWith('/api/') ? api.ollama(request, response, asks) : api(request, response, asks)
  }
  // The shortcut judges callers for itself; those of tests on this machine are anyone.
  const shortcut = caller === anyone ? inPlace(api.shortcut(guard)) : undefined
  const wire = { prefix: '/v1/', handler, shortcut: () => shortcut }
  const url = await serve(handler, { wire, onUpgrade: api.upgrades(() => caller) })
  const post = (path: string, body: unknown, init: RequestInit = {}) =>
    fetch(`${url}${path}`, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body), ...init })
  const ask = (body: unknown = { model: 'm' }, init: RequestInit = {}) => post('/v1/chat/completions', body, init)
  const inFlight = () => table.routesOf('m').map((route) => table.loadOf(route).here)
  /** The record of an answer, once the gateway has written it. */
  const decisionOf = (response: Response) => api.decisions.find(response.headers.get('x-request-id')!)
  return { url, wire, post, ask, table, routes, inFlight, decisions: api.decisions, decisionOf }
}

export const refuseWith =
  (status: number): Handler =>
  (_, response) =>
    void response.writeHead(status, { [REFUSAL_HEADER]: '1' }).end('{}')

export const hangUp: Handler = (_, response) => void response.destroy()

export const answer =
  (text: string, status = 200): Handler =>
  (_, response) =>
    void response.writeHead(status).end(text)

/** An answer that ends after its first piece, without its end. */
export const breakOff =
  (type: string, text: string): Handler =>
  (_, response) => {
    response.writeHead(200, { 'content-type': type })
    response.write(text, () => response.destroy())
  }

/** A worker that tells how many requests reached its engine; probes do not. */
export function counted(handler: Handler): Handler & { requests: number; probes: number } {
  const worker = Object.assign(
    ((request, response) => {
      if (request.method === 'GET') worker.probes += 1
      else worker.requests += 1
      return handler(request, response)
    }) as Handler,
    { requests: 0, probes: 0 },
  )
  return worker
}

export async function errorOf(response: Response): Promise<{ message: string; code: string; state?: string }> {
  return ((await response.json()) as { error: { message: string; code: string } }).error
}
