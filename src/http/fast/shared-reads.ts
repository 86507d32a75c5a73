import { Socket, type SocketConstructorOpts } from 'node:net'
import { Scratch } from '../upstream/read-buffer.ts'

/**
 * All clients' reads go into this buffer; a reader copies what it keeps. Without it, Node would allocate a buffer of this
 * size for every read and shorten it, which burdens the garbage collector.
 */
const READ = new Scratch()

/** A client's connection that can deliver its bytes without a copy and without the stream machinery. */
export class SharedReadSocket extends Socket {
  /** While set, gets each read, valid only until it returns. While unset, the socket is an ordinary stream. */
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

/** The undocumented part of a socket. */
interface WithHandle {
  _handle?: { useUserBuffer?: unknown } | null
}

/**
 * The same connection as a SharedReadSocket. Node offers such reads (`onread`) only for outgoing sockets, so the handle of
 * an accepted one is moved to a new socket. A socket whose internals differ from those expected stays as it is and is read
 * as a stream, which is slower and otherwise the same. The server counts the given connection as closed from then on, so
 * callers that wait for all connections to end must count them themselves.
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
