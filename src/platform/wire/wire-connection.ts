import type { Socket } from 'node:net'
import { readHead, type WireHead } from './read-head.ts'
import { MOST_UNREAD_BYTES, WireRequest } from './wire-request.ts'
import { WireResponse, type Lane } from './wire-response.ts'

/** What a connection needs of its server. */
export interface WireHost {
  readonly prefix: string
  readonly headerBytes: number
  /** Answers one request. */
  serve(request: WireRequest, response: WireResponse): void
  /** From here on the connection belongs to the parser that knows everything. `bytes` are what it has not yet seen. */
  handOver(connection: WireConnection, bytes: Buffer): void
  /** What came is no request, or no more of it will come. Whoever still waits for an answer gets it first. */
  refuse(connection: WireConnection, problem: { code?: string; reason?: string }): void
  /** The client has closed its side and still waits for answers. */
  onHalfClosed(connection: WireConnection): void
  onClosed(connection: WireConnection): void
  /** No more requests are taken than have begun. */
  readonly isClosing: boolean
  /** How long a connection is kept for the next request. */
  readonly keepAliveS: number
}

/** So many requests of one connection are served at once; more wait, unread. Few clients send a second one at all. */
const MOST_AT_ONCE = 6

/**
 * One client's connection. It reads request after request, gives each to the handler and sends the answers in their
 * order. States: between requests (`isIdle`), in a head (bytes held), in a body (`#reading`), and `#isDone` once it was
 * handed over, refused or closed. A head that is not plain waits until all answers are sent, and is handed over then.
 */
export class WireConnection implements Lane {
  readonly socket: Socket
  /** Those that the client waits for, in order. */
  readonly open: WireResponse[] = []
  /** Since when it waits for a request, or for the rest of a head. */
  sinceMs = performance.now()
  /** It has had an answer. */
  isKept = false
  hasEnded = false
  readonly #host: WireHost
  #reading: WireRequest | undefined
  #held: Buffer | undefined
  #isAdvancing = false
  #isDone = false

  constructor(socket: Socket, host: WireHost) {
    this.socket = socket
    this.#host = host
    socket.on('data', this.#onData).on('end', this.#onEnd).on('drain', this.#onDrain)
    socket.on('close', this.#onClose).on('error', ignore)
  }

  /** Nothing is asked, in whole or in part. */
  get isIdle(): boolean {
    return this.open.length === 0 && this.#reading === undefined && this.#held === undefined
  }

  /** Waits for a request or the rest of a head, and for nothing else. */
  get isWaiting(): boolean {
    return this.open.length === 0 && this.#reading === undefined && !this.#isDone
  }

  isTurnOf(response: WireResponse): boolean {
    return this.open[0] === response
  }

  keepAliveS(response: WireResponse): number {
    const isFinal = this.open.at(-1) === response && !this.#held
    return isFinal && (this.hasEnded || this.#host.isClosing) ? 0 : this.#host.keepAliveS
  }

  onFinished(response: WireResponse): void {
    // Mostly it is the only one, and to take the last of a list costs a tenth of what it costs to take the first.
    if (this.open.length === 1) this.open.pop()
    else this.open.shift()
    // What is left of a body that nobody wanted is thrown away, or it would be taken for the next request.
    if (!response.req.complete) response.req.resume()
    if (response.isLast) return this.#leave()
    this.isKept = true
    this.sinceMs = performance.now()
    this.open[0]?.onTurn()
    this.#advance()
    // It may be another's by now.
    if (this.#isDone) return
    if (this.hasEnded) this.#onNoMore()
    else if (this.isIdle && this.#host.isClosing) this.#leave()
    else this.#onRoom()
  }

  /** Lets go of the connection, and returns what it has read and not used. */
  release(): Buffer {
    const held = this.#held ?? NOTHING
    this.stop()
    const { socket } = this
    socket.off('data', this.#onData).off('end', this.#onEnd).off('drain', this.#onDrain)
    socket.off('close', this.#onClose).off('error', ignore)
    return held
  }

  /** Nothing more is read as a request. */
  stop(): void {
    this.#isDone = true
    this.#held = undefined
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#isDone) return
    // The time of a head begins with its first byte; that of the first one with the connection.
    if (!this.#held && !this.#reading && this.isKept) this.sinceMs = performance.now()
    this.#held = this.#held ? Buffer.concat([this.#held, bytes]) : bytes
    this.#advance()
  }

  /** Reads what is there. A handler that answers at once comes back here: the loop goes on, instead of one in the other. */
  #advance(): void {
    if (this.#isAdvancing) return
    this.#isAdvancing = true
    while (this.#held && !this.#isDone && this.#step(this.#held));
    this.#isAdvancing = false
  }

  /** False when there is nothing to do until more has come or an answer has ended. */
  #step(bytes: Buffer): boolean {
    if (this.#reading) {
      this.#held = undefined
      return this.#readBody(this.#reading, bytes)
    }
    if (this.open.at(-1)?.isLast) {
      this.stop()
      return false
    }
    const { prefix, headerBytes } = this.#host
    const head = this.open.length < MOST_AT_ONCE ? readHead(bytes, prefix, headerBytes) : 'more'
    if (head === 'unsure' && this.open.length === 0) {
      this.#host.handOver(this, this.release())
      return false
    }
    if (typeof head === 'string') {
      if (this.open.length > 0 && bytes.length > MOST_UNREAD_BYTES) this.socket.pause()
      return false
    }
    this.#held = undefined
    this.#begin(head, bytes)
    return true
  }

  #begin(head: WireHead, bytes: Buffer): void {
    const request = new WireRequest(head, this.socket, this.#onRoom)
    const response = new WireResponse(request, this, head.isLast)
    this.open.push(response)
    this.#reading = request
    let rest: Buffer
    try {
      rest = request.begin(bytes, head.end)
    } catch (error) {
      return this.#refuse(error as Error)
    }
    if (request.complete) this.#reading = undefined
    if (rest.length > 0) this.#held = rest
    this.#host.serve(request, response)
  }

  /** False when the rest is still to come. */
  #readBody(request: WireRequest, bytes: Buffer): boolean {
    let rest: Buffer
    try {
      rest = request.push(bytes)
    } catch (error) {
      this.#refuse(error as Error)
      return false
    }
    if (!request.complete) {
      if (request.readableLength > MOST_UNREAD_BYTES) this.socket.pause()
      return false
    }
    this.#reading = undefined
    this.sinceMs = performance.now()
    if (rest.length > 0) this.#held = rest
    return true
  }

  #refuse(error: Error): void {
    this.stop()
    this.#host.refuse(this, { code: 'HPE_INVALID_CHUNK_SIZE', reason: error.message })
  }

  readonly #onRoom = (): void => {
    if (this.socket.isPaused()) this.socket.resume()
  }

  readonly #onDrain = (): void => this.open[0]?.emit('drain')

  readonly #onEnd = (): void => {
    this.hasEnded = true
    if (this.open.length > 0 && !this.#reading) this.#host.onHalfClosed(this)
    this.#onNoMore()
  }

  /** The client has closed its side. What it has begun to say will never be whole. */
  #onNoMore(): void {
    if (this.#isDone) return
    const isCut = this.#reading !== undefined || (this.open.length === 0 && this.#held !== undefined)
    if (isCut) {
      this.stop()
      this.#host.refuse(this, { code: 'HPE_INVALID_EOF_STATE' })
    } else if (this.open.length === 0) this.#leave()
  }

  readonly #onClose = (): void => {
    this.#isDone = true
    this.#reading?.cut()
    this.#reading = undefined
    for (const response of this.open.splice(0)) response.emit('close')
    this.#host.onClosed(this)
  }

  #leave(): void {
    this.stop()
    this.socket.destroySoon()
  }
}

const ignore = (): void => {}
const NOTHING = Buffer.alloc(0)
