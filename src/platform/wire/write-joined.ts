import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { scratchForNext, writeFrom, type Writer } from './written-together.ts'

/** The head of a message in two parts: what every such message begins with, and what only this one says. */
export interface JoinedHead {
  /** As bytes, which are copied in a fraction of the time that it takes to write a text. */
  start: Buffer
  rest: string
}

/** What is longer is not put together in memory that is used again. */
const MOST_BYTES = 64 * 1024

/**
 * Writes a head and what is in `bytes` from `bodyAt` on, in one piece; none of it is made into a text or a buffer of its
 * own, which would be garbage as soon as it is written. When there is much to do it waits for others of this turn.
 */
export function writeJoined(
  socket: Socket,
  { start, rest }: JoinedHead,
  bytes: Buffer,
  bodyAt: number,
  writer?: Writer,
): void {
  const headEnd = start.length + rest.length
  const length = headEnd + bytes.length - bodyAt
  // A head that is shorter than the one that came would need another way to be joined.
  if (isTakenLater(socket) || headEnd < bodyAt || length > MOST_BYTES) {
    socket.write(start.toString('latin1') + rest + bytes.toString('latin1', bodyAt), 'latin1')
    return writer?.onWritten(socket.writableLength === 0)
  }
  const scratch = scratchForNext(socket, writer)
  const { all } = scratch
  // With the head that came, over which ours is written: it takes a buffer to copy from somewhere in the middle.
  all.set(bytes, headEnd - bodyAt)
  all.set(start)
  all.write(rest, start.length, rest.length, 'latin1')
  writeFrom(scratch, length, socket, writer)
}

/** What is encrypted is never taken at once, and neither is anything before there is a connection. */
function isTakenLater(socket: Socket): boolean {
  return socket.connecting || (socket as Partial<TLSSocket>).encrypted === true
}
