import type { Socket } from 'node:net'
import { isLoopback } from '../../platform/address.ts'
import type { Familiar, FamiliarHeads } from './path/head-cache.ts'
import { readHead, type WireHead } from './read-head.ts'
import { isShared } from './shared-reads.ts'
import type { ShortExchange, Shortcut, ShortLane } from './path/fast-path.ts'
import { MOST_UNREAD_BYTES, WireRequest } from './fast-request.ts'
import { WireResponse, type Lane } from './fast-response.ts'
import type { JoinedHead } from './path/head-parts.ts'
import { writeJoined } from './path/write-message.ts'
import type { Writer } from './path/write-batch.ts'

/** What a connection needs from its server. */
export interface WireHost {
  readonly prefix: string
  readonly headerBytes: number
  /** Answers one request. */
  serve(request: WireRequest, response: WireResponse): void
  /** The fast path, if there is one. */
  readonly shortcut: Shortcut | undefined
  readonly familiarHeads: Pick<FamiliarHeads, 'find'>
  /** Remembers the head of this request, which ends at `end`, if the fast path accepts such requests. */
  learn(request: WireRequest, bytes: Buffer, end: number): Familiar | undefined
  /** Gives the connection to node:http for good. `bytes` were read and not used. */
  handOver(connection: WireConnection, bytes: Buffer): void
  /** The bytes are not a request, or its rest will never come. Answers still under way are sent before the error. */
  refuse(connection: WireConnection, problem: { code?: string; reason?: string }): void
  /** The client has closed its side and still waits for answers. */
  onHalfClosed(connection: WireConnection): void
  onClosed(connection: WireConnection): void
  /** The server is closing: only requests that have begun, or are on their way, are still served. */
  readonly isClosing: boolean
  /** Ends an idle connection of a closing server, unless a request arrives within the grace time. */
  hearOut(connection: WireConnection): void
  /** How long a connection is kept for the next request. */
  readonly keepAliveS: number
  /** The time of the next sweep over the connections. It serves as the clock, so that requests need not read the time. */
  readonly soonMs: number
}

/** After so many different heads in a row, the connection's heads are no longer remembered. */
const MOST_STRANGE = 3
/** Pipelined requests of one connection served at once; more stay unread. Few clients send even a second one. */
const MOST_AT_ONCE = 6

/**
 * One client's connection. It reads one request after the other, gives each to the handler and sends the answers in
 * order. States: between requests (`isIdle`), in a head (bytes held), in a body (`#reading`), and `#isDone` once it was
 * handed over, refused or closed. A head that is not plain waits until all answers are sent, and then goes to node:http.
 */
export class WireConnection implements Lane, ShortLane, Writer {
  readonly socket: Socket
  /** Answers that the client waits for, in order. */
  readonly open: WireResponse[] = []
  /** When it began to wait for a request, or for the rest of a head. */
  sinceMs: number
  /** At least one answer was sent on it. */
  isKept = false
  hasEnded = false
  readonly #host: WireHost
  #reading: WireRequest | undefined
  /** A request on the fast path without an answer yet. Then no other request is open. */
  #short: ShortExchange | undefined
  /** The connection ends after the answer to `#short`. */
  #isLastShort = false
  /** The last head that was remembered or recognized. */
  #familiar: Familiar | undefined
  #isLocal: boolean | undefined
  /** How many heads in a row differed from the one before. */
  #strangeHeads = 0
  #held: Buffer | undefined
  #isAdvancing = false
  #isDone = false

  constructor(socket: Socket, host: WireHost) {
    this.socket = socket
    this.#host = host
    this.sinceMs = host.soonMs
    if (isShared(socket)) socket.onBytes = this.#onBytes
    else socket.on('data', this.#onData)
    socket.on('end', this.#onEnd).on('drain', this.#onDrain)
    socket.on('close', this.#onClose).on('error', ignore)
  }

  /** No request has begun to arrive, and none is being answered. */
  get isIdle(): boolean {
    return this.isWaiting && this.#held === undefined
  }

  /** Waits only for a request, or for the rest of a head. */
  get isWaiting(): boolean {
    return this.open.length === 0 && !this.#short && this.#reading === undefined && !this.#isDone
  }

  isTurnOf(response: WireResponse): boolean {
    return this.open[0] === response
  }

  keepAliveS(response: WireResponse): number {
    const isFinal = this.open.at(-1) === response && !this.#held
    return isFinal && (this.hasEnded || this.#host.isClosing) ? 0 : this.#host.keepAliveS
  }

  onFinished(response: WireResponse): void {
    // There is usually just one, and `pop` costs a tenth of `shift`.
    if (this.open.length === 1) this.open.pop()
    else this.open.shift()
    // Discard the rest of an unread body, or it would be parsed as the next request.
    if (!response.req.complete) response.req.resume()
    if (response.isLast) return this.#leave()
    this.#goOn()
  }

  /** After an answer. */
  #goOn(): void {
    this.isKept = true
    this.sinceMs = this.#host.soonMs
    this.open[0]?.onTurn()
    this.#advance()
    // `#advance` may have handed the connection to node:http.
    if (this.#isDone) return
    if (this.hasEnded) this.#onNoMore()
    else {
      // The answer's head promised keep-alive before the server began to close: the next request may be on its way.
      if (this.isIdle && this.#host.isClosing) this.#host.hearOut(this)
      this.#onRoom()
    }
  }

  get isLocal(): boolean {
    return (this.#isLocal ??= isLoopback(this.socket.remoteAddress ?? ''))
  }

  get keepS(): number {
    return this.#host.isClosing && !this.#held ? 0 : this.#host.keepAliveS
  }

  answerShort(head: JoinedHead, bytes: Buffer, bodyAt: number, isLast: boolean): void {
    this.#isLastShort = isLast
    writeJoined(this.socket, head, bytes, bodyAt, this)
  }

  /** The answer to a request on the fast path was written. */
  onWritten(isTaken: boolean): void {
    if (isTaken) this.#endShort(false)
    else this.socket.write('', () => this.#endShort(true))
  }

  beginShort(head: JoinedHead, bytes: Buffer, bodyAt: number): void {
    if (this.socket.writable) writeJoined(this.socket, head, bytes, bodyAt)
  }

  lengthen(bytes: Buffer): WireResponse {
    this.#short = undefined
    const head = readHead(bytes, this.#host.prefix, this.#host.headerBytes) as WireHead
    const request = new WireRequest(head, this.socket, this.#onRoom)
    const response = new WireResponse(request, this, head.isLast)
    this.open.push(response)
    request.begin(bytes, head.end)
    return response
  }

  /** Gives up the socket and returns the bytes that were read and not used. */
  release(): Buffer {
    const held = this.#held ?? NOTHING
    this.stop()
    const { socket } = this
    if (isShared(socket)) socket.onBytes = undefined
    socket.off('data', this.#onData).off('end', this.#onEnd).off('drain', this.#onDrain)
    socket.off('close', this.#onClose).off('error', ignore)
    return held
  }

  /** Parses no more requests. */
  stop(): void {
    this.#isDone = true
    this.#held = undefined
  }

  /** `bytes` are valid only until this returns. */
  readonly #onBytes = (bytes: Buffer): void => {
    // Most requests take the fast path, which needs no copy.
    if (!this.isIdle || !this.#takeShort(bytes)) this.#onData(Buffer.from(bytes))
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#isDone) return
    // The time limit of a head runs from its first byte; for the first head, from the connection's start.
    if (!this.#held && !this.#reading && this.isKept) this.sinceMs = this.#host.soonMs
    this.#held = this.#held ? Buffer.concat([this.#held, bytes]) : bytes
    this.#advance()
  }

  /** Reads what has arrived. A handler that answers at once calls this again: the outer loop continues, without recursion. */
  #advance(): void {
    if (this.#isAdvancing) return
    this.#isAdvancing = true
    while (this.#held && !this.#isDone && this.#step(this.#held));
    this.#isAdvancing = false
  }

  /** False when there is nothing to do until more bytes arrive or an answer ends. */
  #step(bytes: Buffer): boolean {
    if (this.#reading) {
      this.#held = undefined
      return this.#readBody(this.#reading, bytes)
    }
    if (this.open.at(-1)?.isLast) {
      this.stop()
      return false
    }
    if (this.#short) {
      if (bytes.length > MOST_UNREAD_BYTES) this.socket.pause()
      return false
    }
    if (this.open.length === 0 && this.#takeShort(bytes)) return true
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

  /** False, and nothing is done, when the request must take the full path. */
  #takeShort(bytes: Buffer): boolean {
    const { shortcut, familiarHeads, headerBytes } = this.#host
    if (!shortcut || this.hasEnded || this.#strangeHeads > MOST_STRANGE) return false
    const familiar = this.#familiar?.head.matches(bytes) ? this.#familiar : familiarHeads.find(bytes)
    if (!familiar) return false
    this.#familiar = familiar
    const { bodyAt, length } = familiar.head
    if (bytes.length !== bodyAt + length || bodyAt > headerBytes) return false
    const short = this.#tryShort(shortcut, familiar, bytes)
    if (!short) return false
    this.#held = undefined
    this.#strangeHeads = 0
    this.#short = short
    short.start(bytes)
    return true
  }

  /** Errors are dropped: the full path makes the same checks and answers with the error. */
  #tryShort(shortcut: Shortcut, { known, head }: Familiar, bytes: Buffer): ShortExchange | undefined {
    try {
      return shortcut.take(known, bytes, head, this)
    } catch {
      return undefined
    }
  }

  /** Remembers the head, because clients mostly repeat it. */
  #learn(request: WireRequest, bytes: Buffer, end: number): void {
    if (this.#strangeHeads > MOST_STRANGE || this.#familiar?.head.matches(bytes)) return
    this.#strangeHeads += 1
    this.#familiar = this.#host.learn(request, bytes, end)
  }

  #endShort(isLater: boolean): void {
    const short = this.#short
    if (!short || this.socket.destroyed) return
    this.#short = undefined
    short.onSent(isLater)
    if (this.#isLastShort) this.#leave()
    else this.#goOn()
  }

  #begin(head: WireHead, bytes: Buffer): void {
    const request = new WireRequest(head, this.socket, this.#onRoom)
    if (!head.isLast) this.#learn(request, bytes, head.end)
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

  /** False when the body is not complete yet. */
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
    this.sinceMs = this.#host.soonMs
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
    this.#short?.lengthen()
    if (this.open.length > 0 && !this.#reading) this.#host.onHalfClosed(this)
    this.#onNoMore()
  }

  /** The client has closed its side, so a request that has begun will never be complete. */
  #onNoMore(): void {
    // A fast-path request calls this again once its answer is written.
    if (this.#isDone || this.#short) return
    const isCut = this.#reading !== undefined || (this.open.length === 0 && this.#held !== undefined)
    if (isCut) {
      this.stop()
      this.#host.refuse(this, { code: 'HPE_INVALID_EOF_STATE' })
    } else if (this.open.length === 0) this.#leave()
  }

  readonly #onClose = (): void => {
    this.#isDone = true
    this.#short?.onClientGone()
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
