import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { ApiError } from './api-error.ts'
import { createServer } from './builtins.ts'
import { answerError, type Log } from './reply.ts'

const MOST_CONNECTIONS = 4096
/** Longer than the usual clients keep idle connections in their pools, so that they close them, not we. */
const KEEP_ALIVE_MS = 75_000

export interface Call {
  request: IncomingMessage
  response: ServerResponse
  /** Aborted when the client disconnects. */
  signal: AbortSignal
}

export interface EngineServer {
  server: Server
  /** Accepts no new connections; resolves when no answer is running. */
  drain: () => Promise<void>
}

/**
 * An HTTP server that aborts a call's signal when its client disconnects, and answers with the error that `handle`
 * throws.
 */
export function createEngineServer(handle: (call: Call) => Promise<void>, log: Log): EngineServer {
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
    handle({ request, response, signal: gone.signal }).catch((error: unknown) => {
      if (!gone.signal.aborted) answerError(response, error, log)
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

/** The route of a call by its path, or an ApiError. */
export function routeOf<R extends { method: string }>(routes: ReadonlyMap<string, R>, { request, response }: Call): R {
  const [path = '/'] = (request.url ?? '/').split('?')
  const route = routes.get(path)
  if (!route) throw new ApiError(404, `Unknown route: ${request.method} ${path}`, { code: 'unknown_url' })
  if (route.method === request.method) return route
  response.setHeader('allow', route.method)
  throw new ApiError(405, `${path} takes ${route.method} only.`, { code: 'method_not_allowed' })
}
