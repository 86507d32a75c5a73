import type { IncomingMessage, ServerResponse } from 'node:http'
import { REFUSAL_HEADER } from '../api/data-port.ts'
import { isLoopback } from '../platform/address.ts'
import { AppError } from '../platform/errors.ts'
import { sendHealth, type Check } from '../platform/health.ts'
import { bearerToken, pathOf, type Handler } from '../platform/http.ts'
import { forward } from '../platform/proxy.ts'
import { sameSecret } from '../platform/secrets.ts'
import type { Supervisor } from './supervisor.ts'

/**
 * The one way to an engine: `/replicas/<id>/<generation>/<path>` with this node's data key. The replica is named in
 * full, so a port that now belongs to another replica can never answer for the one that was meant. Besides, who is on
 * this machine may ask how the worker is.
 */
export function dataPortHandler(
  supervisor: Supervisor,
  dataKey: () => string | undefined,
  checks: Record<string, Check> = {},
): Handler {
  return async (request, response) => {
    try {
      const path = pathOf(request)
      const isLocal = isLoopback(request.socket.remoteAddress ?? '')
      if (isLocal && (path === '/healthz' || path === '/readyz')) return sendHealth(path, response, checks)
      await serve(request, response)
    } catch (error) {
      // Tells the gateway that this is our word and not the engine's: nothing was done, another replica may be asked.
      if (!response.headersSent) response.setHeader(REFUSAL_HEADER, '1')
      throw error
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    checkKey(request, dataKey())
    const { id, generation, path } = parseTarget(request)
    const replica = supervisor.find(id)
    if (!replica || replica.spec.generation !== generation) {
      throw new AppError('not_found', `No replica ${id} of generation ${generation} runs on this node.`)
    }
    if (replica.state !== 'ready' || replica.port === undefined) {
      throw new AppError('model_not_ready', `Replica ${replica.key} is ${replica.state}.`)
    }
    const done = replica.beginRequest()
    try {
      await forwardToEngine(request, response, replica.port, path)
    } finally {
      done()
    }
  }
}

function checkKey(request: IncomingMessage, dataKey: string | undefined): void {
  const token = bearerToken(request)
  if (!token || !dataKey || !sameSecret(token, dataKey)) {
    throw new AppError('unauthorized', 'The data port needs the data key of this node.')
  }
}

function parseTarget(request: IncomingMessage): { id: string; generation: number; path: string } {
  const match = /^\/replicas\/([^/]+)\/(\d{1,16})(\/.*)$/.exec(request.url ?? '')
  if (!match) throw new AppError('not_found', 'The data port serves /replicas/<id>/<generation>/… only.')
  return { id: match[1]!, generation: Number(match[2]), path: match[3]! }
}

async function forwardToEngine(
  request: IncomingMessage,
  response: ServerResponse,
  port: number,
  path: string,
): Promise<void> {
  // No kept-alive connections: some engines close them after a stream without saying so, and loopback is cheap.
  // The data key is for us, not for the engine.
  const headers = { host: `127.0.0.1:${port}`, authorization: undefined }
  const result = await forward(request, response, { host: '127.0.0.1', port, path, headers, agent: false })
  if (result.outcome === 'unreachable') {
    throw new AppError('bad_gateway', `The engine did not answer: ${result.error.message}.`, { cause: result.error })
  }
}
