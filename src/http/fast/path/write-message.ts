import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { bytesOfHead, putHead, textOfHead, type JoinedHead } from './head-parts.ts'
import { scratchForNext, writeFrom, type Writer } from './write-batch.ts'

/** What is longer is not put together in memory that is used again. */
const MOST_BYTES = 64 * 1024

/**
 * Writes a head and what is in `bytes` from `bodyAt` on, in one piece; none of it is made into a text or a buffer of its
 * own, which would be garbage as soon as it is written. When there is much to do it waits for others of this turn.
 */
export function writeJoined(socket: Socket, head: JoinedHead, bytes: Buffer, bodyAt: number, writer?: Writer): void {
  const headEnd = bytesOfHead(head)
  const length = headEnd + bytes.length - bodyAt
  // A head that is shorter than the one that came would need another way to be joined.
  if (isTakenLater(socket) || headEnd < bodyAt || length > MOST_BYTES) {
    socket.write(textOfHead(head) + bytes.toString('latin1', bodyAt), 'latin1')
    return writer?.onWritten(socket.writableLength === 0)
  }
  const scratch = scratchForNext(socket, writer)
  const { all } = scratch
  // With the head that came, over which ours is written: it takes a buffer to copy from somewhere in the middle.
  all.set(bytes, headEnd - bodyAt)
  putHead(all, head)
  writeFrom(scratch, length, socket, writer)
}

/** What is encrypted is never taken at once, and neither is anything before there is a connection. */
function isTakenLater(socket: Socket): boolean {
  return socket.connecting || (socket as Partial<TLSSocket>).encrypted === true
}
