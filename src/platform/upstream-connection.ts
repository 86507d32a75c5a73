import { connect, type Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import type { Address } from './address.ts'
import { AnswerParser, wholeAnswer, type AnswerEvents, type AnswerHead } from './answer-parser.ts'
import { Scratch } from './scratch.ts'
import type { UpstreamTls } from './tls/client-tls.ts'
import { RepeatedHead } from './wire/repeated-head.ts'

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
  /** It is something else. Calls `lengthen`, or `destroy` when nobody wants to know any more. */
  onLonger(): void
}

const CONNECT_WITHIN_MS = 5000
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
export class UpstreamConnection {
  /** It has had an answer before. */
  isReused = false
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
  /** Of its last short answer. */
  #known: { repeated: RepeatedHead; head: AnswerHead } | undefined

  /** `onFree`: its answer has ended and it may have another request. `onGone`: it is no more. */
  constructor(
    { host, port }: Address,
    tls: UpstreamTls | undefined,
    onFree: (connection: UpstreamConnection) => void,
    onGone: (connection: UpstreamConnection) => void = () => {},
  ) {
    this.#onFree = onFree
    this.#onGone = onGone
    this.fingerprint = tls?.fingerprint
    const onread = { buffer: READ.all, callback: (bytes: number) => this.#onRead(bytes) }
    const socket = tls
      ? tls.client.connect({ host, port, fingerprint: tls.fingerprint }, { onread } as ConnectionOptions)
      : connect({ host, port, noDelay: true, onread })
    this.#socket = socket
    // A machine that vanished answers nothing at all, and the kernel would try for minutes.
    const late = setTimeout(
      () => this.#fail(Object.assign(new Error('no connection in time'), { syscall: 'connect' })),
      CONNECT_WITHIN_MS,
    )
    socket.once(tls ? 'secureConnect' : 'connect', () => clearTimeout(late))
    socket.on('drain', () => this.#events?.onDrain())
    socket.on('error', (error) => this.#fail(error))
    socket.on('end', () => this.#onNoMore())
    socket.on('close', () => {
      clearTimeout(late)
      this.#onNoMore()
      this.#onGone(this)
    })
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

  /** The same for a request in one text whose answer is expected to be short. Nothing of its body follows. */
  beginShort(text: string, call: ShortCall): void {
    this.#short = call
    this.#socket.write(text, 'latin1')
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
    if (this.#short && this.#tellWhole(this.#short, bytes)) return
    const parser = this.#parser
    // Whatever it says when nobody has asked: it is not to be trusted with a request.
    if (!parser) return this.destroy()
    try {
      parser.push(bytes)
    } catch (error) {
      return parser.hasEnded ? this.destroy() : this.#fail(error as Error)
    }
    if (parser.hasEnded) this.#settle(parser)
    else this.#events?.onPause()
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
      const whole = wholeAnswer(bytes)
      if (!whole) return this.#tellLonger(short)
      head = whole.head
      bodyAt = whole.bodyAt
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

  #tellLonger(short: ShortCall): boolean {
    short.onLonger()
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
