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
 * The events of a request. `onEnd` or `onFailed` is the last one. The bytes given to `onBody` and `onChunks` are valid only
 * until these return: a receiver that keeps them must copy them.
 */
export interface CallEvents extends AnswerEvents {
  /** All bytes that have arrived so far have been reported. */
  onPause(): void
  /** More of the request may be written. */
  onDrain(): void
  /** There will be no answer, or its rest will not come. */
  onFailed(error: Error): void
}

/** A fast-path request, which expects a short answer that arrives in one read. */
export interface ShortCall {
  /** The whole answer; its body is `bytes` from `bodyAt` on. Returns false, and does nothing, to have it sent as events. */
  onWhole(head: AnswerHead, bytes: Buffer, bodyAt: number): boolean
  /**
   * The answer needs the full path; `start` is what has arrived, if that is a head with or without more. The receiver calls
   * `lengthen`, and the same bytes are then reported to its events; or `destroy`, when the answer is not wanted any more.
   */
  onLonger(start?: AnswerStart): void
}

const CONNECT_WITHIN_MS = 5000
/** From the head's first byte. The first byte may take as long as the upstream needs. */
const HEAD_WITHIN_MS = 60_000
/**
 * All upstreams' reads go into this buffer, and are consumed before the next read: a buffer for each read would be as large,
 * and garbage at once.
 */
const READ = new Scratch()
/** A body up to this length is copied, so that it goes out in one write with its head. */
const MOST_JOINED_BYTES = 16 * 1024

/**
 * A connection to an upstream. It does not use node:http's client, which costs several times as much as all the rest of a
 * proxy. It carries one request at a time; its listeners stay for its whole life.
 */
export class UpstreamConnection implements Writer {
  /** It has carried an answer before, or is a stream of a mux. */
  isReused: boolean
  readonly isStrand: boolean
  /** Its last answer came in chunks. */
  wasChunked = false
  /** When it was last given back, and last taken. */
  idleSinceMs = 0
  takenAtMs = 0
  /** The fingerprint of the expected certificate, when it is encrypted. */
  readonly fingerprint: string | undefined
  readonly #socket: Socket
  readonly #onFree: (connection: UpstreamConnection) => void
  readonly #onGone: (connection: UpstreamConnection) => void
  #parser: AnswerParser | undefined
  #events: CallEvents | undefined
  #short: ShortCall | undefined
  /** Its request still waits to be written with others, so bytes that arrive now are not its answer. */
  #isUnasked = false
  /** Runs while the head of an answer has come in part. */
  #late: NodeJS.Timeout | undefined
  /** The head of its last short answer, if it can be recognized again. */
  #known: { repeated: RepeatedHead; head: AnswerHead } | undefined

  /** `onFree`: its answer has ended and it may carry another request. `onGone`: it has closed. */
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
    // Its mux was used before, and may end just as it is used again.
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
    // A machine that vanished sends nothing at all, and the kernel would try for minutes.
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

  /** It carries a fast-path request. */
  get isShort(): boolean {
    return this.#short !== undefined
  }

  /** `head` ends with its empty line. Without `body` there is none, or it follows with `write`. */
  begin(method: string, head: string, body: Buffer | undefined, events: CallEvents): void {
    this.#events = events
    this.#parser = new AnswerParser(method, events)
    const socket = this.#socket
    if (!body || body.length === 0) return void socket.write(head, 'latin1')
    // As one string: a write of two pieces costs more than the copy.
    if (body.length <= MOST_JOINED_BYTES) return void socket.write(head + body.toString('latin1'), 'latin1')
    socket.cork()
    socket.write(head, 'latin1')
    socket.write(body)
    socket.uncork()
  }

  /** Sends a fast-path request. Its whole body is `bytes` from `bodyAt` on. */
  beginShort(head: JoinedHead, bytes: Buffer, bodyAt: number, call: ShortCall): void {
    this.#short = call
    this.#isUnasked = true
    writeJoined(this.#socket, head, bytes, bodyAt, this)
  }

  onWritten(): void {
    this.#isUnasked = false
  }

  /** Moves a fast-path request to the full path. */
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

  /** Closes it; a waiting request gets `onFailed` with the error. */
  giveUp(error: Error): void {
    this.#fail(error)
  }

  /** Closes it without further events. */
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
      return this.#fail(Object.assign(new Error('it sent data before the request'), { code: 'ECONNRESET' }))
    if (this.#short && this.#tellWhole(this.#short, bytes)) return
    const parser = this.#parser
    // An upstream that sends data without a request must not get another one.
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

  /** Starts or stops the time limit of a head. Further bytes of the same head do not restart it. */
  #watchHead({ isInHead }: AnswerParser): void {
    if (isInHead && this.#late) return
    clearTimeout(this.#late)
    const text = `the head of its answer was not complete within ${HEAD_WITHIN_MS / 1000} s`
    this.#late = isInHead ? setTimeout(() => this.#fail(new Error(text)), HEAD_WITHIN_MS).unref() : undefined
  }

  /** False when the answer is not a short one; its request is on the full path from then on. */
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
      // An answer with its own request id needs that id forwarded, so its head is parsed every time.
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
