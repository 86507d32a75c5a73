import type { Socket } from 'node:net'
import { Scratch } from '../scratch.ts'
import { isShared } from './shared-reads.ts'

/** What is written in one piece is put together here, which is free again when the system has taken all of it. */
let scratch = new Scratch()

/**
 * Writes a head and what is in `bytes` from `bodyAt` on, in one piece; neither is made into a text or a buffer of its own,
 * which would be garbage as soon as it is written. False when some of it is still to be sent.
 */
export function writeJoined(socket: Socket, head: string, bytes: Buffer, bodyAt: number): boolean {
  const length = head.length + bytes.length - bodyAt
  // What is encrypted is never taken at once. A head that is shorter than the one that came would need another way to be joined.
  if (!isShared(socket) || head.length < bodyAt || length > scratch.all.length) {
    socket.write(head + bytes.toString('latin1', bodyAt), 'latin1')
    return socket.writableLength === 0
  }
  // With the head that came, over which ours is written: it takes a buffer to copy from somewhere in the middle.
  scratch.all.set(bytes, head.length - bodyAt)
  scratch.all.write(head, 0, head.length, 'latin1')
  socket.write(scratch.first(length))
  const isTaken = socket.writableLength === 0
  if (!isTaken) scratch = new Scratch()
  return isTaken
}
