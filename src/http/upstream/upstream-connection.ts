import type { Socket } from 'node:net'
import type { Address } from '../../platform/address.ts'
import { AnswerParser, answerStart, type AnswerEvents, type AnswerHead, type AnswerStart } from './answer-parser.ts'
import { Strand } from '../mux/mux-stream.ts'
import { dial } from './dial.ts'
import { Scratch } from './read-buffer.ts'
import type { UpstreamTls } from '../../platform/tls/client-tls.ts'
import { RepeatedHead } from '../fast/path/head-template.ts'
import type { JoinedHead } from '../fast/path/head-parts.ts'
import { writeJoined } from '../fast/path/write-message.ts'
import type { Writer } from '../fast/path/write-batch.ts'

/**
 * What becomes of a request. Nothing more is told after `onEnd` or `onFailed`. What `onBody` and `onChunks` are given is
 * good until they return: who keeps it copies it.
 */
export interface CallEvents extends AnswerEvents {
  /** All that has come for now has been told. */
  onPause(): void
  /** More of the request may be written. */
  onDrain(): void
  /** There will be no answer, or no more of it. */
  onFailed(error: Error): void
}

/** A request of which nothing is expected but a short answer that comes whole. */
export interface ShortCall {
  /** The answer; what is in `bytes` from `bodyAt` on is its body. False, and nothing done: it is to be told piece by piece. */
  onWhole(head: AnswerHead, bytes: Buffer, bodyAt: number): boolean
  /**
   * It is something else; `start` is what has come of it, when that is a head and something may follow it. All of that is
   * told again to whom `lengthen` is told, which is called from here; or `destroy`, when nobody wants to know any more.
   */
  onLonger(start?: AnswerStart): void
}

const CONNECT_WITHIN_MS = 5000
/** From its first byte. The first byte may come as late as the upstream needs. */
const HEAD_WITHIN_MS = 60_000
/**
 * What is read from any upstream is read into here and used up before anything else is read: a buffer for each read
 * would be as large, and thrown away at once.
 */
const READ = new Scratch()
/** A body up to this length is copied, so that it can be written with its head. */
const MOST_JOINED_BYTES = 16 * 1024

/**
 * A connection to an upstream, spoken to without node:http's client, which costs several times as much as all the rest
 * of a proxy. It has one request at a time; its listeners are there from its beginning to its end.
 */
export class UpstreamConnection implements Writer {
  /** It has had an answer before. */
  isReused: boolean
  readonly isStrand: boolean
  /** Its last answer came in chunks. */
  wasChunked = false
  /** When it was last given back, and last taken. */
  idleSinceMs = 0
  takenAtMs = 0
  /** Of the certificate that it was shown, when it is encrypted. */
  readonly fingerprint: string | undefined
  readonly #socket: Socket
  readonly #onFree: (connection: UpstreamConnection) => void
  readonly #onGone: (connection: UpstreamConnection) => void
  #parser: AnswerParser | undefined
  #events: CallEvents | undefined
  #short: ShortCall | undefined
  /** Its request waits to be written with others. What it says until then is no answer to it. */
  #isUnasked = false
  /** Runs while the head of an answer has come in part. */
  #late: NodeJS.Timeout | undefined
  /** Of its last short answer. */
  #known: { repeated: RepeatedHead; head: AnswerHead } | undefined

  /** `onFree`: its answer has ended and it may have another request. `onGone`: it is no more. */
  constructor(
    to: Address | Strand,
    tls: UpstreamTls | undefined,
    onFree: (connection: UpstreamConnection) => void,
    onGone: (connection: UpstreamConnection) => void = () => {},
  ) {
    this.#onFree = onFree
    this.#onGone = onGone
    this.fingerprint = tls?.fingerprint
    this.isStrand = to instanceof Strand
    // What it is a part of was used before, and may end in the moment in which it is used again.
    this.isReused = this.isStrand
    const socket = to instanceof Strand ? this.#readStrand(to) : this.#dial(to, tls)
    this.#socket = socket
    socket.on('drain', () => this.#events?.onDrain())
    socket.on('error', (error) => this.#fail(error))
    socket.on('end', () => this.#onNoMore())
    socket.on('close', () => {
      this.#onNoMore()
      this.#onGone(this)
    })
  }

  #dial(to: Address, tls: UpstreamTls | undefined): Socket {
    const socket = dial(to, tls, { buffer: READ.all, callback: (bytes) => this.#onRead(bytes) })
    // A machine that vanished answers nothing at all, and the kernel would try for minutes.
    const late = setTimeout(
      () => this.#fail(Object.assign(new Error('no connection in time'), { syscall: 'connect' })),
      CONNECT_WITHIN_MS,
    )
    const stop = (): void => clearTimeout(late)
    return socket.once(tls ? 'secureConnect' : 'connect', stop).once('close', stop)
  }

  #readStrand(strand: Strand): Socket {
    strand.onBytes = (bytes) => this.#onData(bytes)
    strand.resume()
    return strand as unknown as Socket
  }

  get isUsable(): boolean {
    return this.#socket.writable
  }

  /** It has a short call. */
  get isShort(): boolean {
    return this.#short !== undefined
  }

  /** `head` ends with its empty line. Without `body` there is none, or it follows with `write`. */
  begin(method: string, head: string, body: Buffer | undefined, events: CallEvents): void {
    this.#events = events
    this.#parser = new AnswerParser(method, events)
    const socket = this.#socket
    if (!body || body.length === 0) return void socket.write(head, 'latin1')
    // As one text: two pieces are handed to the system by a way that costs more than to copy them.
    if (body.length <= MOST_JOINED_BYTES) return void socket.write(head + body.toString('latin1'), 'latin1')
    socket.cork()
    socket.write(head, 'latin1')
    socket.write(body)
    socket.uncork()
  }

  /** The same for a request whose answer is expected to be short. Its body is in `bytes` from `bodyAt` on, all of it. */
  beginShort(head: JoinedHead, bytes: Buffer, bodyAt: number, call: ShortCall): void {
    this.#short = call
    this.#isUnasked = true
    writeJoined(this.#socket, head, bytes, bodyAt, this)
  }

  onWritten(): void {
    this.#isUnasked = false
  }

  /** Makes an ordinary call of a short one. */
  lengthen(method: string, events: CallEvents): void {
    this.#short = undefined
    this.#events = events
    this.#parser = new AnswerParser(method, events)
  }

  /** False when the upstream does not keep up. */
  write(piece: Buffer | string): boolean {
    return this.#socket.write(piece)
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** Ends it, and whoever waits is told why. */
  giveUp(error: Error): void {
    this.#fail(error)
  }

  /** Tells nothing more. */
  destroy(): void {
    clearTimeout(this.#late)
    this.#short = undefined
    this.#events = undefined
    this.#parser = undefined
    this.#socket.destroy()
  }

  #onRead(length: number): boolean {
    this.#onData(READ.first(length))
    return true
  }

  #onData(bytes: Buffer): void {
    if (this.#isUnasked)
      return this.#fail(Object.assign(new Error('it spoke before it was asked'), { code: 'ECONNRESET' }))
    if (this.#short && this.#tellWhole(this.#short, bytes)) return
    const parser = this.#parser
    // Whatever it says when nobody has asked: it is not to be trusted with a request.
    if (!parser) return this.destroy()
    try {
      parser.push(bytes)
    } catch (error) {
      return parser.hasEnded ? this.destroy() : this.#fail(error as Error)
    }
    if (parser.isInHead || this.#late) this.#watchHead(parser)
    if (parser.hasEnded) this.#settle(parser)
    else this.#events?.onPause()
  }

  /** The time of a head that comes byte by byte does not begin anew with each of them. */
  #watchHead({ isInHead }: AnswerParser): void {
    if (isInHead && this.#late) return
    clearTimeout(this.#late)
    const text = `the head of its answer did not come whole within ${HEAD_WITHIN_MS / 1000} s`
    this.#late = isInHead ? setTimeout(() => this.#fail(new Error(text)), HEAD_WITHIN_MS).unref() : undefined
  }

  /** False when the answer is no short one, and its call a longer one from here on. */
  #tellWhole(short: ShortCall, bytes: Buffer): boolean {
    const known = this.#known
    let head: AnswerHead
    let bodyAt: number
    if (known?.repeated.matches(bytes)) {
      head = known.head
      bodyAt = known.repeated.bodyAt
      if (bodyAt + known.repeated.length !== bytes.length) return this.#tellLonger(short)
    } else {
      const start = answerStart(bytes)
      if (!start?.isWhole) return this.#tellLonger(short, start)
      head = start.head
      bodyAt = start.bodyAt
      // What names each answer is passed on, so that such a head is read every time.
      const isNamed = head.headers['x-request-id'] !== undefined
      const repeated = isNamed ? undefined : RepeatedHead.of(bytes.toString('latin1', 0, bodyAt))
      this.#known = repeated && { repeated, head }
    }
    if (!short.onWhole(head, bytes, bodyAt)) return this.#tellLonger(short)
    this.#short = undefined
    this.isReused = true
    this.wasChunked = false
    if (head.mayKeepAlive && this.#socket.writable) this.#onFree(this)
    else this.#socket.destroy()
    return true
  }

  #tellLonger(short: ShortCall, start?: AnswerStart): boolean {
    short.onLonger(start)
    return false
  }

  /** Its answer has ended. */
  #settle(parser: AnswerParser): void {
    this.#events = undefined
    if (this.#parser !== parser) return
    this.#parser = undefined
    if (!parser.mayKeepAlive || !this.#socket.writable) return void this.#socket.destroy()
    this.isReused = true
    this.wasChunked = parser.isChunked
    this.#socket.resume()
    this.#onFree(this)
  }

  #onNoMore(): void {
    this.#short?.onLonger()
    const parser = this.#parser
    if (parser?.close()) return this.#settle(parser)
    this.#fail(Object.assign(new Error('it closed the connection'), { code: 'ECONNRESET' }))
  }

  #fail(error: Error): void {
    this.#short?.onLonger()
    const events = this.#events
    this.destroy()
    events?.onFailed(error)
  }
}
