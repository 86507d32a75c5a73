import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { AppError } from '../../platform/errors.ts'
import { answerOnSocket } from './socket-answer.ts'

/** The most refused connections that get an answer at a time; in a flood the rest is closed without one. */
const MOST_TOLD = 1000
const RETRY_AFTER_S = 5

export interface LimitOptions {
  most: number
  /** Returns the socket to use instead of the server's. */
  replace: (socket: Socket) => Socket
  /** Encrypts the connection where the listener has TLS. */
  secure: (socket: Socket, onReady: (ready: Socket) => void) => void
  /** `accept` gives the connection to node:http. */
  onConnection: (socket: Socket, accept: () => void) => void
}

export interface ConnectionLimit {
  /** Takes a stream of a mux, which does not count as a connection. */
  take(socket: Socket): void
  /** Resolves once there is no connection. */
  whenNone(): Promise<void>
}

/** Refuses connections above `most` before any request is read from them. */
export function limitConnections(server: Server, options: LimitOptions): ConnectionLimit {
  const { most, replace, secure, onConnection } = options
  // Node's own listeners, which read requests, run only after this one has accepted.
  const listeners = server.listeners('connection') as ((this: Server, socket: Socket) => void)[]
  server.removeAllListeners('connection')
  let accepted = 0
  let told = 0
  let none = Promise.withResolvers<void>()
  none.resolve()
  const onClosed = (): void => {
    if (accepted + told === 0) none.resolve()
  }
  const take = (socket: Socket): void =>
    onConnection(socket, () => {
      for (const listener of listeners) listener.call(server, socket)
    })
  server.on('connection', (given) => {
    const isAccepted = accepted < most
    if (!isAccepted && told >= MOST_TOLD) return void given.destroy()
    if (accepted + told === 0) none = Promise.withResolvers<void>()
    const socket = replace(given)
    if (isAccepted) {
      accepted += 1
      socket.once('close', () => {
        accepted -= 1
        onClosed()
      })
      return secure(socket, take)
    }
    told += 1
    socket.once('close', () => {
      told -= 1
      onClosed()
    })
    const text = `All ${most} connections that this listener takes are in use. Try again in a moment.`
    const error = new AppError('unavailable', text, { retryAfterS: RETRY_AFTER_S })
    secure(socket, (ready) => answerOnSocket(ready, error))
  })
  return { take, whenNone: () => none.promise }
}
