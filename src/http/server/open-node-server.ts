import type { IncomingMessage, Server } from 'node:http'
import { asksForCable } from '../mux/handshake.ts'
import type { HttpLimits } from './limits.ts'
import { createServer } from './node-http.ts'

export interface NodeServerOptions {
  limits: HttpLimits
  keepAliveMs: number
  /** WebSocket upgrades come as the event `upgrade`. */
  takesUpgrades: boolean
  /** Upgrades to a mux come as the event `upgrade`. */
  takesCables: boolean
}

const PROBE_AFTER_MS = 30_000

/** A node:http server, with those of its checks switched off that Flotilla makes itself. */
export function openNodeServer({ limits, keepAliveMs, takesUpgrades, takesCables }: NodeServerOptions): Server {
  const server = createServer({
    headersTimeout: limits.headMs,
    requestTimeout: 0,
    connectionsCheckingInterval: Math.max(10, Math.floor(limits.headMs / 8)),
    keepAliveTimeout: keepAliveMs,
    maxHeaderSize: limits.headerBytes,
    // The operating system probes silent clients, so that the streams of a machine without power do not count for ever.
    keepAlive: true,
    keepAliveInitialDelay: PROBE_AFTER_MS,
    // `checkHead` checks it, so that the error has our own format.
    requireHostHeader: false,
    shouldUpgradeCallback: (request) =>
      (takesUpgrades && isWebSocket(request)) || (takesCables && asksForCable(request)),
  })
  // `checkHead` counts them: node:http would silently drop those above its limit.
  server.maxHeadersCount = 0
  // A client that has closed its sending side may still wait for the answer.
  return Object.assign(server, { httpAllowHalfOpen: true })
}

function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.trim().toLowerCase() === 'websocket'
}
