import type { Socket } from 'node:net'

/**
 * Calls back when the other side ends or breaks a connection that is not being read. Node notices that only while it reads,
 * so this reads, but leaves received bytes in the buffer. Returns a function that stops it.
 */
export function whenGone(socket: Socket, onGone: () => void): () => void {
  const onReadable = (): void => void (socket.readableLength === 0 && socket.read())
  socket.once('close', onGone).once('end', onGone).on('readable', onReadable)
  return () => void socket.off('close', onGone).off('end', onGone).off('readable', onReadable)
}
