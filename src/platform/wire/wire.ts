import type { Socket } from 'node:net'
import { answerBadRequest } from '../bad-requests.ts'
import type { HttpRequest, HttpResponse } from '../exchange.ts'
import { watchHalfClosed } from '../half-closed.ts'
import type { HttpLimits } from '../http-limits.ts'
import { WireConnection, type WireHost } from './wire-connection.ts'

export interface WireOptions {
  /** Requests under this path are served here, when they are plain. */
  prefix: string
  limits: HttpLimits
  keepAliveMs: number
  serve: (request: HttpRequest, response: HttpResponse) => void
}

export interface Wire {
  /** Reads requests from a connection; `accept` gives it to node:http, which is to read it from its first byte. */
  take(socket: Socket, accept: () => void): void
  /** From now on connections end with their answers. Those that are idle may still ask: it may be on its way. */
  close(): void
  /** Ends what is idle. */
  endIdle(): void
  /** Ends all. */
  destroy(): void
}

/**
 * Serves requests from bare sockets: what node:http does for a request takes several times as long as what a gateway
 * does. Only what is plain is read here. The rest (upgrades, expectations, other methods, paths and versions, and whatever
 * is no HTTP) goes to node:http with its connection, so all that can be said about it is said in one place.
 */
export function openWire({ prefix, limits, keepAliveMs, serve }: WireOptions): Wire {
  const connections = new Map<WireConnection, () => void>()
  let isClosing = false
  const host: WireHost = {
    prefix,
    headerBytes: limits.headerBytes,
    serve,
    handOver(connection, bytes) {
      const accept = connections.get(connection)!
      connections.delete(connection)
      const { socket } = connection
      accept()
      if (bytes.length > 0) socket.emit('data', bytes)
      if (connection.hasEnded) socket.emit('end')
    },
    refuse: (connection, problem) => answerBadRequest(problem, connection.socket, connection.open, limits),
    onHalfClosed: ({ socket, open }) => watchHalfClosed(socket, open),
    onClosed: (connection) => void connections.delete(connection),
    keepAliveS: Math.floor(keepAliveMs / 1000),
    get isClosing() {
      return isClosing
    },
  }
  const look = setInterval(
    () => {
      const nowMs = performance.now()
      for (const connection of connections.keys()) if (connection.isWaiting) endLate(connection, nowMs)
    },
    Math.max(10, Math.floor(limits.headMs / 8)),
  )
  look.unref()

  /** One that was served before may be silent for longer than one from which nothing has ever come. */
  function endLate(connection: WireConnection, nowMs: number): void {
    const waitedMs = nowMs - connection.sinceMs
    if (connection.isKept && connection.isIdle) {
      if (waitedMs >= keepAliveMs) connection.socket.destroy()
    } else if (waitedMs >= limits.headMs) {
      connection.stop()
      host.refuse(connection, { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
    }
  }

  return {
    take: (socket, accept) => void connections.set(new WireConnection(socket, host), accept),
    close() {
      isClosing = true
    },
    endIdle() {
      for (const connection of connections.keys()) if (connection.isIdle) connection.socket.destroy()
    },
    destroy() {
      clearInterval(look)
      for (const connection of connections.keys()) connection.socket.destroy()
    },
  }
}
