import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { bytesOfHead, putHead, textOfHead, type JoinedHead } from './head-parts.ts'
import { scratchForNext, writeFrom, type Writer } from './write-batch.ts'

/** Longer messages do not use the shared memory. */
const MOST_BYTES = 64 * 1024

/**
 * Writes a head, then `bytes` from `bodyAt` on, in one piece. It makes no string or buffer of its own, which would be
 * garbage right after the write. Under load the write waits for others of this turn.
 */
export function writeJoined(socket: Socket, head: JoinedHead, bytes: Buffer, bodyAt: number, writer?: Writer): void {
  const headEnd = bytesOfHead(head)
  const length = headEnd + bytes.length - bodyAt
  // The copy below needs a head that is not shorter than the one that came.
  if (isTakenLater(socket) || headEnd < bodyAt || length > MOST_BYTES) {
    socket.write(textOfHead(head) + bytes.toString('latin1', bodyAt), 'latin1')
    return writer?.onWritten(socket.writableLength === 0)
  }
  const scratch = scratchForNext(socket, writer)
  const { all } = scratch
  // Copies the received head, too, and overwrites it: copying from the middle would need another buffer.
  all.set(bytes, headEnd - bodyAt)
  putHead(all, head)
  writeFrom(scratch, length, socket, writer)
}

/** Encrypted bytes, and bytes written before the connection is made, are never taken at once. */
function isTakenLater(socket: Socket): boolean {
  return socket.connecting || (socket as Partial<TLSSocket>).encrypted === true
}
