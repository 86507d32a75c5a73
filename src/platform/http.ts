import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { formatAddress, type Address } from './address.ts'
import { AppError, messageOf, toAppError } from './errors.ts'
import type { Logger } from './log.ts'
import { createServer } from './node-http.ts'

export type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void

export interface HttpServer {
  readonly address: Address
  /** Takes no new requests, lets the running ones finish for up to `graceMs`, then cuts what is left. */
  dispose(graceMs: number): Promise<void>
}

export interface HttpServerOptions {
  listen: Address
  /** What the listener is for, and the flag that moves it: both go into the message when the port is taken. */
  purpose: string
  flag: string
  handler: Handler
  log: Logger
}

/** A request must have sent its head within this time; bodies may take as long as they need. */
const PROBE_AFTER_MS = 30_000
const HEAD_TIMEOUT_MS = 30_000

export async function startHttpServer({ listen, purpose, flag, handler, log }: HttpServerOptions): Promise<HttpServer> {
  const server = createServer({
    headersTimeout: HEAD_TIMEOUT_MS,
    requestTimeout: 0,
    keepAliveTimeout: 65_000,
    // A machine that lost its power says nothing: the operating system asks, so that its streams do not count for ever.
    keepAlive: true,
    keepAliveInitialDelay: PROBE_AFTER_MS,
  })
  const sockets = new Set<Socket>()
  let closing = false
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('request', (request, response) => {
    // A client that goes away is not a failure; what waits on it looks at `close`.
    response.on('error', () => {})
    // A kept-alive connection that becomes idle now would hold up the end.
    response.once('finish', () => closing && setImmediate(() => server.closeIdleConnections()))
    request.on('error', () => {})
    void (async () => {
      try {
        await handler(request, response)
      } catch (thrown) {
        const error = toAppError(thrown)
        if (error.code === 'internal') log.error({ err: thrown, path: pathOf(request) }, 'http: a request failed')
        sendError(response, error)
      }
    })()
  })
  await listenOn(server, listen, purpose, flag)
  const { port } = server.address() as AddressInfo
  return {
    address: { host: listen.host, port },
    async dispose(graceMs) {
      closing = true
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeIdleConnections()
      const cut = setTimeout(() => {
        for (const socket of sockets) socket.destroy()
      }, graceMs)
      await closed
      clearTimeout(cut)
    },
  }
}

function listenOn(server: Server, listen: Address, purpose: string, flag: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, listen, purpose, flag)))
    server.listen({ host: listen.host, port: listen.port }, () => resolve())
  })
}

/** One clear line for a listener that cannot be had, with the flag that moves it. */
export function listenError(error: NodeJS.ErrnoException, listen: Address, purpose: string, flag: string): AppError {
  const where = formatAddress(listen)
  const reasons: Record<string, string> = {
    EADDRINUSE: 'another program uses that port',
    EACCES: 'this user may not use that port',
    EADDRNOTAVAIL: 'this machine does not have that address',
  }
  const reason = reasons[error.code ?? ''] ?? messageOf(error)
  return new AppError(
    'usage',
    `Cannot listen on ${where} for ${purpose}: ${reason}. Choose another with ${flag} host:port.`,
    {
      cause: error,
    },
  )
}

export function pathOf(request: IncomingMessage): string {
  return (request.url ?? '/').split('?', 1)[0] ?? '/'
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  const text = `${JSON.stringify(body)}\n`
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(text)),
    ...headers,
  })
  response.end(text)
}

/** The error as the client's last word. A response that has begun cannot be taken back: it is cut, never ended as if whole. */
export function sendError(response: ServerResponse, error: AppError): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  const headers: Record<string, string> = {}
  if (error.retryAfterS !== undefined) headers['retry-after'] = String(error.retryAfterS)
  if (error.code === 'unauthorized') headers['www-authenticate'] = 'Bearer'
  // What is left of an unread body would be taken for the next request.
  if (!response.req.complete) headers['connection'] = 'close'
  sendJson(response, error.status, error.toBody(), headers)
}

/** The whole body, up to a limit. */
export async function readBody(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  const tooLarge = (): AppError =>
    new AppError('too_large', `The request body is larger than the limit of ${limitBytes} bytes.`)
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > limitBytes) throw tooLarge()
      chunks.push(chunk)
    }
  } catch (error) {
    if (error instanceof AppError) throw error
    throw new AppError('bad_request', 'The connection ended before the whole request body had arrived.', {
      cause: error,
    })
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
}

/** Parses JSON whose errors a person can act on. */
export function parseJson(body: Buffer): unknown {
  if (body.length === 0) throw new AppError('bad_request', 'The request body is empty; a JSON object was expected.')
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch (error) {
    throw new AppError('bad_request', `The request body is not valid JSON: ${messageOf(error)}.`, { cause: error })
  }
}

/** The token of `Authorization: Bearer <token>`. */
export function bearerToken(request: IncomingMessage): string | undefined {
  return /^Bearer\s+(\S+)\s*$/i.exec(request.headers.authorization ?? '')?.[1]
}
