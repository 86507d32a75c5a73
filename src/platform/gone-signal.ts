import type { Socket } from 'node:net'

const signals = new WeakMap<Socket, AbortSignal>()

/**
 * Aborted when the client of this connection has gone. One for all requests on it, as a client goes once and a signal
 * for each would cost more than its request. The connection is looked at and not a response, which is not told when it
 * still waits for an earlier one to end. Who listens stops listening by himself: the next request has the same signal.
 */
export function goneSignal(socket: Socket): AbortSignal {
  const known = signals.get(socket)
  if (known) return known
  const gone = new AbortController()
  if (socket.destroyed) gone.abort()
  else socket.once('close', () => gone.abort())
  signals.set(socket, gone.signal)
  return gone.signal
}
