import { Socket, type SocketConstructorOpts } from 'node:net'
import { Scratch } from '../upstream/read-buffer.ts'

/**
 * What is read from any client is read into here, and copied by who needs it for longer. Without it Node makes a buffer of
 * this size for every read, shortens it to what came, and has the collector look after it.
 */
const READ = new Scratch()

/** A client's connection whose bytes are told without being made into a stream's. */
export class SharedReadSocket extends Socket {
  /** Gets what has come, as long as there is somebody; it is good until this returns. After that it is a stream as any. */
  onBytes: ((bytes: Buffer) => void) | undefined

  constructor(handle: object, allowHalfOpen: boolean) {
    const callback = (length: number): boolean => this.#onRead(length)
    super({ handle, allowHalfOpen, onread: { buffer: READ.all, callback } } as SocketConstructorOpts)
  }

  #onRead(length: number): boolean {
    const bytes = READ.first(length)
    if (!this.onBytes) return this.push(Buffer.from(bytes))
    this.onBytes(bytes)
    return true
  }
}

export function isShared(socket: Socket): socket is SharedReadSocket {
  return 'onBytes' in socket
}

/** As much of a socket as Node does not document. */
interface WithHandle {
  _handle?: { useUserBuffer?: unknown } | null
}

/**
 * The same connection as a SharedReadSocket. Node documents such reads (`onread`) for sockets that connect, and makes those
 * that a server accepts without asking, so the connection is moved from the one to the other. Whatever is not as it is
 * known to be stays as it is, and is read as a stream: slower, and otherwise the same. For its server the connection has
 * ended with this: who waits for the end of all has to count for himself.
 */
export function withSharedReads(given: Socket): Socket {
  const internal = given as unknown as WithHandle
  const handle = internal._handle
  const isKnown = Object.getPrototypeOf(given) === Socket.prototype && typeof handle?.useUserBuffer === 'function'
  if (!handle || !isKnown || given.bytesRead > 0) return given
  const socket = new SharedReadSocket(handle, given.allowHalfOpen)
  if ((socket as unknown as WithHandle)._handle !== handle) return given
  internal._handle = null
  given.destroy()
  return socket
}
