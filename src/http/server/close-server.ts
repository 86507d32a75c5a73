import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'
import type { Wire } from '../fast/fast-server.ts'
import type { TakenCables } from '../mux/mux-server.ts'
import { LAST_WORD_MS } from './close-grace.ts'
import type { ConnectionLimit } from './connection-limit.ts'
import type { NodeConnections } from './node-connections.ts'
import type { SecuredConnections } from './secured-connections.ts'
import type { StalledBodies } from './stalled-bodies.ts'

/** What one listener consists of. */
export interface ServerParts {
  server: Server
  connections: NodeConnections
  limit: ConnectionLimit
  cables: TakenCables
  bodies: StalledBodies
  wire: Wire | undefined
  secured: SecuredConnections | undefined
}

/** Turns of the event loop, each of which accepts connections. A limit, because in a flood there are always more. */
const MOST_TURNS = 100
/** An idle turn takes 0.002 ms, sometimes 0.012 ms. */
const SHORT_TURN_MS = 0.2

/** Takes no new requests, lets the running ones finish for up to `graceMs`, then cuts what is left. */
export async function closeServer(parts: ServerParts, graceMs: number): Promise<void> {
  const { server, connections, limit, cables, bodies, wire, secured } = parts
  await acceptWaiting(server)
  // Not `server.close()`, which would also close idle connections, at once.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
  connections.close()
  wire?.close()
  cables.close()
  const endSilent = (): void => secured?.dispose()
  const silent = setTimeout(endSilent, Math.min(graceMs, LAST_WORD_MS))
  const cut = setTimeout(() => {
    wire?.destroy()
    connections.destroy()
  }, graceMs)
  await closed
  await limit.whenNone()
  // Frees the other resources of the HTTP server, such as its timers.
  server.close()
  clearTimeout(silent)
  clearTimeout(cut)
  endSilent()
  wire?.destroy()
  bodies.dispose()
}

/**
 * Accepts the connections that wait in the operating system's queue, which resets them when the listener closes. Only short
 * turns show that the queue is empty: connections that came during a long turn, or while this process did not run, may not
 * have been seen yet.
 */
async function acceptWaiting(server: Server): Promise<void> {
  let quietTurns = 0
  const onConnection = (): void => void (quietTurns = 0)
  server.on('connection', onConnection)
  // Two turns, because the first may end before the queue was polled.
  for (let turn = 0; quietTurns < 2 && turn < MOST_TURNS; turn += 1) {
    quietTurns += 1
    const beganMs = performance.now()
    await nextTurn()
    if (performance.now() - beganMs > SHORT_TURN_MS) quietTurns = 0
  }
  server.off('connection', onConnection)
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
