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

/** What a connection needs of its server. */
export interface WireHost {
  readonly prefix: string
  readonly headerBytes: number
  /** Answers one request. */
  serve(request: WireRequest, response: WireResponse): void
  /** Takes those that need nothing of all this, if there is such a way. */
  readonly shortcut: Shortcut | undefined
  readonly familiarHeads: Pick<FamiliarHeads, 'find'>
  /** Remembers the head of this request, which ends there, unless nobody wants to know it again. */
  learn(request: WireRequest, bytes: Buffer, end: number): Familiar | undefined
  /** From here on the connection belongs to the parser that knows everything. `bytes` are what it has not yet seen. */
  handOver(connection: WireConnection, bytes: Buffer): void
  /** What came is no request, or no more of it will come. Whoever still waits for an answer gets it first. */
  refuse(connection: WireConnection, problem: { code?: string; reason?: string }): void
  /** The client has closed its side and still waits for answers. */
  onHalfClosed(connection: WireConnection): void
  onClosed(connection: WireConnection): void
  /** No more requests are taken than have begun, or are on their way. */
  readonly isClosing: boolean
  /** Ends a connection that is idle while we close, unless it asks for something within a moment. */
  hearOut(connection: WireConnection): void
  /** How long a connection is kept for the next request. */
  readonly keepAliveS: number
  /** When connections are next looked at. It stands for the time, which is not asked for with every request. */
  readonly soonMs: number
}

/** A client whose heads are never the same is not learnt from any more. */
const MOST_STRANGE = 3
/** So many requests of one connection are served at once; more wait, unread. Few clients send a second one at all. */
const MOST_AT_ONCE = 6

/**
 * One client's connection. It reads request after request, gives each to the handler and sends the answers in their
 * order. States: between requests (`isIdle`), in a head (bytes held), in a body (`#reading`), and `#isDone` once it was
 * handed over, refused or closed. A head that is not plain waits until all answers are sent, and is handed over then.
 */
export class WireConnection implements Lane, ShortLane, Writer {
  readonly socket: Socket
  /** Those that the client waits for, in order. */
  readonly open: WireResponse[] = []
  /** Since when it waits for a request, or for the rest of a head. */
  sinceMs: number
  /** It has had an answer. */
  isKept = false
  hasEnded = false
  readonly #host: WireHost
  #reading: WireRequest | undefined
  /** A request that took the shortcut and has no answer yet. There is no other beside it. */
  #short: ShortExchange | undefined
  /** No request follows it. */
  #isLastShort = false
  /** The head that came last. */
  #familiar: Familiar | undefined
  #isLocal: boolean | undefined
  /** How often in a row a head was another than the one before. */
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

  /** Nothing is asked, in whole or in part. */
  get isIdle(): boolean {
    return this.isWaiting && this.#held === undefined
  }

  /** Waits for a request or the rest of a head, and for nothing else. */
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
    // Mostly it is the only one, and to take the last of a list costs a tenth of what it costs to take the first.
    if (this.open.length === 1) this.open.pop()
    else this.open.shift()
    // What is left of a body that nobody wanted is thrown away, or it would be taken for the next request.
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
    // It may be another's by now.
    if (this.#isDone) return
    if (this.hasEnded) this.#onNoMore()
    else {
      // The answer had begun before and has promised that the connection is kept: the next request may be on its way.
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

  /** The answer to a request on the shortcut. */
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

  /** Lets go of the connection, and returns what it has read and not used. */
  release(): Buffer {
    const held = this.#held ?? NOTHING
    this.stop()
    const { socket } = this
    if (isShared(socket)) socket.onBytes = undefined
    socket.off('data', this.#onData).off('end', this.#onEnd).off('drain', this.#onDrain)
    socket.off('close', this.#onClose).off('error', ignore)
    return held
  }

  /** Nothing more is read as a request. */
  stop(): void {
    this.#isDone = true
    this.#held = undefined
  }

  /** What it is given is another's by the time this returns. */
  readonly #onBytes = (bytes: Buffer): void => {
    // Most take the shortcut, which needs no copy.
    if (!this.isIdle || !this.#takeShort(bytes)) this.#onData(Buffer.from(bytes))
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#isDone) return
    // The time of a head begins with its first byte; that of the first one with the connection.
    if (!this.#held && !this.#reading && this.isKept) this.sinceMs = this.#host.soonMs
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

  /** False, and nothing is done, when it has to go the long way. */
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

  /** Whatever is thrown is told by the long way, which asks the same. */
  #tryShort(shortcut: Shortcut, { known, head }: Familiar, bytes: Buffer): ShortExchange | undefined {
    try {
      return shortcut.take(known, bytes, head, this)
    } catch {
      return undefined
    }
  }

  /** What a client has said once it will mostly say again. */
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

  /** The client has closed its side. What it has begun to say will never be whole. */
  #onNoMore(): void {
    // What has its answer but for the last bytes comes back here.
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
