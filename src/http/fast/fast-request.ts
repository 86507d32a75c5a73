import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { HttpRequest } from '../exchange.ts'
import { ChunkReader } from './chunk-reader.ts'
import { Listeners } from './listeners.ts'
import type { WireHead } from './read-head.ts'

interface RequestEvents {
  data: [Buffer]
  end: []
  close: []
  error: [Error]
}

/** The connection stops reading when so many bytes wait for the handler. */
export const MOST_UNREAD_BYTES = 64 * 1024

/** A request of the fast server: the part of node:http's request that handlers need. */
export class WireRequest extends Listeners<RequestEvents> implements HttpRequest {
  readonly method: string
  readonly url: string
  readonly httpVersion = '1.1'
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: string[]
  readonly socket: Socket
  complete = false
  destroyed = false
  readableLength = 0
  whole: Buffer | undefined
  readonly #onRoom: () => void
  readonly #chunks: ChunkReader | undefined
  #left: number
  #unread: Buffer[] | undefined
  #isFlowing: boolean | undefined
  #isEndTold = false

  /** `onRoom` is called when the handler has taken all that had arrived, so that more may be read. */
  constructor(head: WireHead, socket: Socket, onRoom: () => void) {
    super()
    this.method = head.method
    this.url = head.url
    this.headers = head.headers
    this.rawHeaders = head.rawHeaders
    this.socket = socket
    this.#onRoom = onRoom
    this.#left = head.length ?? 0
    if (head.length === undefined) this.#chunks = new ChunkReader()
  }

  /** Takes the bytes that came with the head, which ends at `start`; returns those after this request. */
  begin(bytes: Buffer, start = 0): Buffer {
    const end = start + this.#left
    if (this.#chunks || bytes.length < end) return this.push(bytes.subarray(start))
    // As few subarrays as possible: each costs as much as ten other objects.
    this.whole = end === start ? NOTHING : bytes.subarray(start, end)
    this.complete = true
    return end === bytes.length ? NOTHING : bytes.subarray(end)
  }

  /** Returns the bytes after this request. Throws when the body is malformed. */
  push(bytes: Buffer): Buffer {
    if (this.#chunks) {
      const rest = this.#chunks.push(bytes, { onBody: (piece) => this.#give(piece) })
      if (!rest) return NOTHING
      this.#end()
      return rest
    }
    const piece = bytes.length <= this.#left ? bytes : bytes.subarray(0, this.#left)
    this.#left -= piece.length
    if (piece.length > 0) this.#give(piece)
    if (this.#left === 0) this.#end()
    return bytes.subarray(piece.length)
  }

  /** A `data` listener starts the flow, unless the request was paused before. */
  override on<K extends keyof RequestEvents>(event: K, listener: (...args: RequestEvents[K]) => void): this {
    super.on(event, listener)
    if (event === 'data' && this.#isFlowing === undefined) this.resume()
    return this
  }

  pause(): this {
    this.#isFlowing = false
    return this
  }

  resume(): this {
    if (this.#isFlowing) return this
    this.#isFlowing = true
    // Not at once: the caller may still add listeners.
    queueMicrotask(() => this.#flow())
    return this
  }

  /** The connection has closed. */
  cut(): void {
    this.destroyed = true
    this.emit('close')
  }

  #give(piece: Buffer): void {
    if (this.#isFlowing && this.readableLength === 0) return this.emit('data', piece)
    this.#unread ??= []
    this.#unread.push(piece)
    this.readableLength += piece.length
  }

  #end(): void {
    this.complete = true
    if (this.#isFlowing && this.readableLength === 0) this.#tellEnd()
  }

  #tellEnd(): void {
    if (this.#isEndTold) return
    this.#isEndTold = true
    this.emit('end')
  }

  #flow(): void {
    if (this.whole) {
      if (this.whole.length > 0) this.#give(this.whole)
      this.whole = undefined
    }
    while (this.#isFlowing && this.#unread && this.#unread.length > 0) {
      const piece = this.#unread.shift()!
      this.readableLength -= piece.length
      this.emit('data', piece)
    }
    if (!this.#isFlowing || this.destroyed) return
    if (this.complete) this.#tellEnd()
    else this.#onRoom()
  }
}

const NOTHING = Buffer.alloc(0)
