import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { AppError } from '../../platform/errors.ts'
import { answerOnSocket } from './socket-answer.ts'

/** So many of those who are turned away are told why at once; in a flood the rest is closed without a word. */
const MOST_TOLD = 1000
const RETRY_AFTER_S = 5

export interface LimitOptions {
  most: number
  /** What is to be used instead of the socket that the server has made. */
  replace: (socket: Socket) => Socket
  /** Makes each what it is to be. */
  secure: (socket: Socket, onReady: (ready: Socket) => void) => void
  /** `accept` gives it to the server. */
  onConnection: (socket: Socket, accept: () => void) => void
}

export interface ConnectionLimit {
  /** Takes a connection that is a part of one of them, and does not count. */
  take(socket: Socket): void
  /** Resolves as soon as there is no connection. */
  whenNone(): Promise<void>
}

/** Turns away connections beyond `most` before anything is asked on them. */
export function limitConnections(server: Server, options: LimitOptions): ConnectionLimit {
  const { most, replace, secure, onConnection } = options
  // The server's own listener, which reads requests, is put behind ours.
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
