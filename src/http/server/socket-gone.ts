import type { Socket } from 'node:net'

/**
 * Tells when the other side of a connection that nobody reads has ended or broken it: that is seen only by one who looks.
 * What it says meanwhile waits. Returns what stops looking.
 */
export function whenGone(socket: Socket, onGone: () => void): () => void {
  const onReadable = (): void => void (socket.readableLength === 0 && socket.read())
  socket.once('close', onGone).once('end', onGone).on('readable', onReadable)
  return () => void socket.off('close', onGone).off('end', onGone).off('readable', onReadable)
}
