import type { Socket } from 'node:net'
import { answerBadRequest } from '../server/bad-requests.ts'
import { checkHead } from '../server/check-head.ts'
import type { HttpRequest, HttpResponse } from '../exchange.ts'
import { watchHalfClosed } from '../server/half-closed.ts'
import type { HttpLimits } from '../server/limits.ts'
import { afterLastWord } from '../server/close-grace.ts'
import { FamiliarHeads } from './path/head-cache.ts'
import type { Shortcut } from './path/fast-path.ts'
import { WireConnection, type WireHost } from './fast-connection.ts'

export interface WireOptions {
  /** Plain requests under this path are served here. */
  prefix: string
  limits: HttpLimits
  keepAliveMs: number
  serve: (request: HttpRequest, response: HttpResponse) => void
  /** Called for every request, because the fast path may become available later, and go away. */
  shortcut?: (() => Shortcut | undefined) | undefined
}

export interface Wire {
  /** Reads requests from a connection. `accept` gives the connection to node:http. */
  take(socket: Socket, accept: () => void): void
  /** From now on connections end with their answers, or after a moment of being idle. */
  close(): void
  /** Ends all connections. */
  destroy(): void
}

/**
 * Serves requests from bare sockets, because node:http takes several times as long for a request as the gateway's own
 * work. It reads only plain requests. All else (upgrades, expectations, other methods, paths and versions, and bytes that
 * are not HTTP) goes to node:http with its connection, so that the errors for it are made in one place.
 */
export function openWire({ prefix, limits, keepAliveMs, serve, shortcut }: WireOptions): Wire {
  const connections = new Map<WireConnection, () => void>()
  const familiarHeads = new FamiliarHeads()
  let isClosing = false
  const host: WireHost = {
    prefix,
    headerBytes: limits.headerBytes,
    serve,
    familiarHeads,
    learn(request, bytes, end) {
      const known = isInOrder(request, limits) ? shortcut?.()?.know(request) : undefined
      return known === undefined ? undefined : familiarHeads.add(bytes, end, known)
    },
    get shortcut() {
      return shortcut?.()
    },
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
    get soonMs() {
      return soonMs
    },
    get isClosing() {
      return isClosing
    },
    hearOut,
  }
  const lookEveryMs = Math.max(10, Math.floor(limits.headMs / 8))
  let soonMs = performance.now() + lookEveryMs
  const look = setInterval(() => {
    const nowMs = performance.now()
    soonMs = nowMs + lookEveryMs
    for (const connection of connections.keys()) if (connection.isWaiting) endLate(connection, nowMs)
  }, lookEveryMs)
  look.unref()

  /** A connection that was served before may be silent for longer than one that has never sent a request. */
  function endLate(connection: WireConnection, nowMs: number): void {
    const waitedMs = nowMs - connection.sinceMs
    if (connection.isKept && connection.isIdle) {
      if (waitedMs >= keepAliveMs) connection.socket.destroy()
    } else if (waitedMs >= limits.headMs) {
      connection.stop()
      host.refuse(connection, { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
    }
  }

  function hearOut(connection: WireConnection): void {
    afterLastWord(() => connection.isIdle && connection.socket.destroy())
  }

  return {
    take(socket, accept) {
      const connection = new WireConnection(socket, host)
      connections.set(connection, accept)
      if (isClosing) hearOut(connection)
    },
    close() {
      isClosing = true
      for (const connection of connections.keys()) if (connection.isIdle) hearOut(connection)
    },
    destroy() {
      clearInterval(look)
      for (const connection of connections.keys()) connection.socket.destroy()
    },
  }
}

function isInOrder(request: HttpRequest, { headers }: HttpLimits): boolean {
  try {
    checkHead(request, headers)
    return true
  } catch {
    return false
  }
}
