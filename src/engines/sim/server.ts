import type { Server } from 'node:http'
import { ApiError } from './api-error.ts'
import { createServer } from './builtins.ts'
import { answerError } from './reply.ts'
import { routesOf, type Call, type Route, type RouteDeps } from './routes.ts'

const MOST_CONNECTIONS = 4096
/** Longer than the pools of the usual clients keep a connection, so that they, not we, close an idle one. */
const KEEP_ALIVE_MS = 75_000

export interface SimServer {
  server: Server
  /** Takes no new connections; resolves when no answer is under way. */
  drain: () => Promise<void>
}

export function createSimServer(deps: RouteDeps): SimServer {
  const routes = routesOf(deps)
  let open = 0
  let onIdle: (() => void) | undefined

  const server = createServer((request, response) => {
    const gone = new AbortController()
    open += 1
    response.on('error', () => {})
    response.on('close', () => {
      if (!response.writableFinished) gone.abort()
      open -= 1
      if (open === 0) onIdle?.()
    })
    if (onIdle) response.shouldKeepAlive = false
    handle(routes, deps, { request, response, signal: gone.signal }).catch((error: unknown) => {
      if (!gone.signal.aborted) answerError(response, error, deps.log)
    })
  })
  server.maxConnections = MOST_CONNECTIONS
  server.keepAliveTimeout = KEEP_ALIVE_MS

  return {
    server,
    drain: () =>
      new Promise((resolve) => {
        onIdle = resolve
        server.close()
        if (open === 0) resolve()
      }),
  }
}

async function handle(routes: Map<string, Route>, { engine, loading }: RouteDeps, call: Call): Promise<void> {
  const { request, response, signal } = call
  const [path = '/'] = (request.url ?? '/').split('?')
  const route = routes.get(path)
  if (!route) throw new ApiError(404, `Unknown route: ${request.method} ${path}`, { code: 'unknown_url' })
  if (route.method !== request.method) {
    response.setHeader('allow', route.method)
    throw new ApiError(405, `${path} takes ${route.method} only.`, { code: 'method_not_allowed' })
  }
  if (route.kind === 'sim') return route.answer(call)
  if (route.kind === 'inference') {
    engine.counters.requests += 1
    signal.addEventListener('abort', () => (engine.counters.aborted += 1), { once: true })
    if (loading.ready) engine.faults.countRequest()
  }
  await engine.faults.passed(signal)
  if (signal.aborted) return
  if (route.kind === 'inference') engine.admit(loading.ready)
  return route.answer(call)
}
