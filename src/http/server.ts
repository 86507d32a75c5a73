import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { jsonMistakeAt } from '../core/lib/json-mistake.ts'
import type { Address } from '../platform/address.ts'
import { answerBadRequest } from './server/bad-requests.ts'
import type { BodyRoom } from './server/body-budget.ts'
import { asksForCable } from './mux/handshake.ts'
import { TakenCables } from './mux/mux-server.ts'
import { checkHead, continueWhenRead } from './server/check-head.ts'
import { limitConnections } from './server/connection-limit.ts'
import { AppError, toAppError } from '../platform/errors.ts'
import type { ExchangeHandler, HttpRequest, HttpResponse } from './exchange.ts'
import { GrowingBytes } from './server/growing-bytes.ts'
import { watchHalfClosed } from './server/half-closed.ts'
import { defaultHttpLimits, type HttpLimits } from './server/limits.ts'
import { closeServer } from './server/close-server.ts'
import { listenOn, type ListenOptions } from './server/listen.ts'
import type { Logger } from '../platform/run/log.ts'
import { NodeConnections } from './server/node-connections.ts'
import { openNodeServer } from './server/open-node-server.ts'
import { takeTheRest } from './proxy.ts'
import { answerOnSocket, errorHeaders } from './server/socket-answer.ts'
import { watchBodies, type StalledBodies } from './server/stalled-bodies.ts'
import { securedConnections, type SecuredConnections, type SecuredOptions } from './server/secured-connections.ts'
import { withSharedReads } from './fast/shared-reads.ts'
import { openWire, type WireOptions } from './fast/fast-server.ts'

export type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void

/** Owns the connection. An error that it throws is sent on the connection, which then ends. */
export type UpgradeHandler = (request: IncomingMessage, socket: Socket, head: Buffer) => Promise<void> | void

export interface HttpServer {
  readonly address: Address
  /** Takes no new requests, lets the running ones finish for up to `graceMs`, then cuts what is left. */
  dispose(graceMs: number): Promise<void>
}

export interface HttpServerOptions extends ListenOptions {
  handler: Handler
  /** Serves plain requests under a path with the fast server, several times as fast. All others go to `handler`. */
  wire?: { prefix: string; handler: ExchangeHandler; shortcut?: WireOptions['shortcut'] }
  /** For WebSocket upgrades. Without it, and for other protocols, the upgrade is ignored and `handler` serves the request. */
  onUpgrade?: UpgradeHandler
  /** For upgrades to a mux. Throws when this client may not open one; without it no client may. */
  allowCable?: (request: HttpRequest) => void
  limits?: Partial<HttpLimits>
  /** Encrypts connections. */
  tls?: SecuredOptions | undefined
  log: Logger
}

const KEEP_ALIVE_MS = 65_000

export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { listen, wire: fast, onUpgrade, allowCable, log } = options
  const limits = { ...defaultHttpLimits, ...options.limits }
  const server = openNodeServer({
    limits,
    keepAliveMs: KEEP_ALIVE_MS,
    takesUpgrades: onUpgrade !== undefined,
    takesCables: allowCable !== undefined,
  })
  const connections = new NodeConnections()
  const bodies = watchBodies(limits.bodySilenceMs, sendError)
  const answer = answerer(bodies, limits, log)
  const wire =
    fast &&
    openWire({
      prefix: fast.prefix,
      limits,
      keepAliveMs: KEEP_ALIVE_MS,
      serve: (request, response) => answer(request, response, fast.handler),
      shortcut: fast.shortcut,
    })
  const secured = options.tls && securedConnections(options.tls, limits.headMs)
  const secure: SecuredConnections['take'] = (socket, onReady) =>
    secured ? secured.take(socket, onReady) : onReady(socket)
  const limit = limitConnections(server, {
    most: limits.connections,
    replace: (socket) => (wire && !secured ? withSharedReads(socket) : socket),
    secure,
    onConnection(socket, accept) {
      const take = (): void => {
        accept()
        connections.take(socket)
        const open = connections.openOn(socket)
        socket.once('end', () => open.size > 0 && watchHalfClosed(socket, open))
      }
      if (wire) wire.take(socket, take)
      else take()
    },
  })
  const cables = new TakenCables((strand) => limit.take(strand))
  refuseUnreadable(server, connections, limits)
  serveRequests(server, connections, options.handler, answer)
  serveUpgrades(server, { ...options, connections, cables, limits })
  await listenOn(server, options)
  const { port } = server.address() as AddressInfo
  return {
    address: { host: listen.host, port },
    dispose: (graceMs) => closeServer({ server, connections, limit, cables, bodies, wire, secured }, graceMs),
  }
}

type Answer = (request: HttpRequest, response: HttpResponse, serve: ExchangeHandler) => void

/** Has a request served; what its handler throws becomes the answer. */
function answerer(bodies: StalledBodies, limits: HttpLimits, log: Logger): Answer {
  return (request, response, serve) => {
    bodies.watch(request, response)
    try {
      checkHead(request, limits.headers)
      const serving = serve(request, response)
      // The fast server's handlers mostly return no promise, and then none is awaited.
      if (serving) void serving.catch((thrown: unknown) => sendError(response, toShown(thrown, request, log)))
    } catch (thrown) {
      sendError(response, toShown(thrown, request, log))
    }
  }
}

function refuseUnreadable(server: Server, connections: NodeConnections, limits: HttpLimits): void {
  const unreadable = new WeakSet<Socket>()
  server.on('clientError', (error, stream) => {
    const socket = stream as Socket
    // After one malformed request all that follows on the connection is unreadable, too.
    if (unreadable.has(socket)) return
    unreadable.add(socket)
    answerBadRequest(error, socket, connections.openOn(socket), limits)
  })
}

function serveRequests(server: Server, connections: NodeConnections, handler: Handler, answer: Answer): void {
  const run = (request: IncomingMessage, response: ServerResponse, serve: Handler): void => {
    connections.begin(request.socket, response)
    // A client that goes away is not a failure; code that waits for it listens to `close`.
    response.on('error', () => {})
    request.on('error', () => {})
    answer(request, response, () => serve(request, response))
  }
  server.on('request', (request, response) => run(request, response, handler))
  server.on('checkContinue', (request, response) => {
    continueWhenRead(request, response)
    run(request, response, handler)
  })
  server.on('checkExpectation', (request, response) => run(request, response, refuseExpectation))
}

interface UpgradeParts extends Pick<HttpServerOptions, 'onUpgrade' | 'allowCable' | 'log'> {
  connections: NodeConnections
  cables: TakenCables
  limits: HttpLimits
}

function serveUpgrades(server: Server, parts: UpgradeParts): void {
  const { connections, cables, limits, onUpgrade, allowCable, log } = parts
  server.on('upgrade', (request, stream, head) => {
    const socket = stream as Socket
    socket.on('error', () => {})
    // Answers still to come would mix with the bytes of the new protocol.
    if (connections.openOn(socket).size > 0) return void socket.destroy()
    connections.switch(socket)
    void (async () => {
      try {
        checkHead(request, limits.headers)
        if (!asksForCable(request)) return await onUpgrade?.(request, socket, head)
        allowCable!(request)
        cables.take(socket, head)
      } catch (thrown) {
        answerOnSocket(socket, toShown(thrown, request, log))
      }
    })()
  })
}

function refuseExpectation({ headers }: IncomingMessage): void {
  const text = `Expect: ${headers.expect} is not supported. The only supported expectation is 100-continue.`
  throw new AppError('expectation_failed', text)
}

function toShown(thrown: unknown, request: HttpRequest, log: Logger): AppError {
  const error = toAppError(thrown)
  if (error.code === 'internal') log.error({ err: thrown, path: pathOf(request) }, 'http: a request failed')
  return error
}

export function pathOf(request: HttpRequest): string {
  const url = request.url ?? '/'
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}

export function sendJson(
  response: HttpResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.end(beginJson(response, status, body, headers))
}

/** Sends the head; returns the body that belongs to it. */
function beginJson(
  response: HttpResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>>,
): string {
  const text = `${JSON.stringify(body)}\n`
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(text)),
    ...headers,
  })
  return text
}

/**
 * Answers with an error. A response that has already begun is cut off, so that the client does not mistake it for a whole
 * one. If the client is still uploading, it gets the answer now and the rest is drained for a while; closing at once could
 * drop the answer.
 */
export function sendError(response: HttpResponse, error: AppError, body: unknown = error.toBody()): void {
  const { req: request } = response
  if (response.headersSent) return void response.destroy()
  if (request.complete) return sendJson(response, error.status, body, errorHeaders(error))
  // The connection closes, because the rest of an unread body would be parsed as the next request.
  const headers = { ...errorHeaders(error), connection: 'close' }
  response.write(beginJson(response, error.status, body, headers))
  const end = (): void => void response.end()
  if (request.destroyed) return end()
  request.once('end', end).once('close', end)
  takeTheRest(request)
}

export interface ReadOptions {
  /** The whole body must arrive within this time. */
  withinMs?: number | undefined
  /** Counts the body's memory. The caller that opened it releases it once the body is no longer kept. */
  room?: BodyRoom | undefined
}

/** The whole body, up to a limit. */
export async function readBody(
  request: HttpRequest,
  limitBytes: number,
  { withinMs, room }: ReadOptions = {},
): Promise<Buffer> {
  const { whole } = request
  if (whole && whole.length <= limitBytes) {
    room?.grow(whole.length)
    room?.settle()
    return Promise.resolve(whole)
  }
  return new Promise((resolve, reject) => {
    const tooLarge = (): AppError =>
      new AppError('too_large', `The request body is larger than the limit of ${limitBytes} bytes.`)
    const said = request.headers['content-length']
    const length = said === undefined ? undefined : Number(said)
    if (length !== undefined && length > limitBytes) return reject(tooLarge())
    const bytes = new GrowingBytes(length)
    const late = withinMs === undefined ? undefined : setTimeout(() => stop(tooSlow(withinMs)), withinMs)
    const over = (): void => {
      clearTimeout(late)
      request.off('data', onData).off('end', onEnd).off('close', onCut).off('error', onCut)
    }
    const stop = (error: AppError): void => {
      over()
      room?.release()
      request.pause()
      reject(error)
    }
    const onData = (chunk: Buffer): void => {
      if (bytes.length + chunk.length > limitBytes) return stop(tooLarge())
      try {
        room?.grow(chunk.length)
      } catch (error) {
        return stop(toAppError(error))
      }
      bytes.push(chunk)
    }
    const onEnd = (): void => {
      over()
      room?.settle()
      resolve(bytes.take())
    }
    const onCut = (cause?: Error): void => {
      const text = 'The connection ended before the whole request body had arrived.'
      stop(new AppError('bad_request', text, { cause }))
    }
    if (room) room.onRefused = stop
    if (request.destroyed) return onCut()
    try {
      if (length !== undefined) room?.announce(length)
    } catch (error) {
      return stop(toAppError(error))
    }
    request.on('data', onData).once('end', onEnd).once('close', onCut).once('error', onCut)
  })
}

function tooSlow(withinMs: number): AppError {
  return new AppError('timeout', `The request body did not arrive whole within ${withinMs / 1000} s.`)
}

/** Parses JSON; its errors say where the mistake is. */
export function parseJson(body: Buffer): unknown {
  if (body.length === 0) throw new AppError('bad_request', 'The request body is empty; a JSON object was expected.')
  const text = body.toString('utf8')
  try {
    return JSON.parse(text) as unknown
  } catch (cause) {
    throw new AppError('bad_request', `The request body is not valid JSON${whereItFails(text)}.`, { cause })
  }
}

function whereItFails(text: string): string {
  const at = jsonMistakeAt(text)
  if (at === undefined) return ''
  if (at === text.length) return `: it ends too early, at position ${at}`
  const before = text.slice(0, at).split('\n')
  return ` at position ${at} (line ${before.length}, column ${before.at(-1)!.length + 1})`
}

/** The token of `Authorization: Bearer <token>`. */
export function bearerToken(request: HttpRequest): string | undefined {
  return /^Bearer\s+(\S+)\s*$/i.exec(request.headers.authorization ?? '')?.[1]
}
