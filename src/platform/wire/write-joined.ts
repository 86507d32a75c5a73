import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { Scratch } from '../scratch.ts'

/** The head of a message in two parts: what every such message begins with, and what only this one says. */
export interface JoinedHead {
  /** As bytes, which are copied in a fraction of the time that it takes to write a text. */
  start: Buffer
  rest: string
}

/** What is written in one piece is put together here, which is free again when the system has taken all of it. */
let scratch = new Scratch()

/**
 * Writes a head and what is in `bytes` from `bodyAt` on, in one piece; none of it is made into a text or a buffer of its
 * own, which would be garbage as soon as it is written. False when some of it is still to be sent.
 */
export function writeJoined(socket: Socket, { start, rest }: JoinedHead, bytes: Buffer, bodyAt: number): boolean {
  const headEnd = start.length + rest.length
  const length = headEnd + bytes.length - bodyAt
  // A head that is shorter than the one that came would need another way to be joined.
  if (isTakenLater(socket) || headEnd < bodyAt || length > scratch.all.length) {
    socket.write(start.toString('latin1') + rest + bytes.toString('latin1', bodyAt), 'latin1')
    return socket.writableLength === 0
  }
  // With the head that came, over which ours is written: it takes a buffer to copy from somewhere in the middle.
  scratch.all.set(bytes, headEnd - bodyAt)
  scratch.all.set(start)
  scratch.all.write(rest, start.length, rest.length, 'latin1')
  socket.write(scratch.first(length))
  const isTaken = socket.writableLength === 0
  if (!isTaken) scratch = new Scratch()
  return isTaken
}

/** What is encrypted is never taken at once, and neither is anything before there is a connection. */
function isTakenLater(socket: Socket): boolean {
  return socket.connecting || (socket as Partial<TLSSocket>).encrypted === true
}
