import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { AppError } from './errors.ts'
import { answerOnSocket } from './socket-answer.ts'

/** So many of those who are turned away are told why at once; in a flood the rest is closed without a word. */
const MOST_TOLD = 1000
const RETRY_AFTER_S = 5

/**
 * Turns away connections beyond `most` before anything is asked on them. `secure` makes each what it is to be;
 * `accept` gives the others to the server, as themselves or as another socket with the same connection.
 */
export function limitConnections(
  server: Server,
  most: number,
  secure: (socket: Socket, onReady: (ready: Socket) => void) => void,
  onConnection: (socket: Socket, accept: (socket: Socket) => void) => void,
): void {
  // The server's own listener, which reads requests, is put behind ours.
  const listeners = server.listeners('connection') as ((this: Server, socket: Socket) => void)[]
  server.removeAllListeners('connection')
  let accepted = 0
  let told = 0
  server.on('connection', (socket) => {
    if (accepted < most) {
      accepted += 1
      socket.once('close', () => (accepted -= 1))
      return secure(socket, (ready) =>
        onConnection(ready, (taken) => {
          for (const listener of listeners) listener.call(server, taken)
        }),
      )
    }
    if (told >= MOST_TOLD) return void socket.destroy()
    told += 1
    socket.once('close', () => (told -= 1))
    const text = `All ${most} connections that this listener takes are in use. Try again in a moment.`
    const error = new AppError('unavailable', text, { retryAfterS: RETRY_AFTER_S })
    secure(socket, (ready) => answerOnSocket(ready, error))
  })
}
