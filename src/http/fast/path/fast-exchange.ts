import type { AnswerHead, AnswerStart } from '../../upstream/answer-parser.ts'
import { isPlainStream } from '../../proxy.ts'
import type { ShortCall, UpstreamConnection } from '../../upstream/upstream-connection.ts'
import { areWholeChunks } from '../chunk-reader.ts'
import type { ShortExchange, ShortLane } from './fast-path.ts'
import type { WireResponse } from '../fast-response.ts'
import type { JoinedHead } from './head-parts.ts'

/**
 * One request on the fast path: sent in one piece, answered in one piece. Any other event moves it to the full path, which
 * then handles that event.
 */
export abstract class ShortPassage implements ShortExchange, ShortCall {
  readonly #lane: ShortLane
  /** The client's bytes as latin1: a string is cheaper to make and to collect than a buffer. */
  #text = ''
  /** Where the body begins in it. */
  protected readonly bodyAt: number
  /** Undefined once another request or the full path uses it. */
  #connection: UpstreamConnection | undefined

  constructor(lane: ShortLane, bodyAt: number, connection: UpstreamConnection) {
    this.#lane = lane
    this.bodyAt = bodyAt
    this.#connection = connection
  }

  abstract onSent(isLater: boolean): void
  /** The head for the upstream; `length` is the body's. */
  protected abstract question(length: number): JoinedHead
  /**
   * The head for the client; the body is in `bytes` from `bodyAt` on. Undefined, and nothing is done, when this answer must
   * not be forwarded.
   */
  protected abstract answer(head: AnswerHead, bytes: Buffer, bodyAt: number, keepS: number): JoinedHead | undefined
  /** The client's head for an event stream whose `head` has just arrived; undefined when it must not be forwarded. */
  protected abstract streamHead(head: AnswerHead, keepS: number): JoinedHead | undefined
  /** The client disconnected while its answer was being written. */
  protected abstract onLost(): void
  /** Continues on the full path; the request was already sent on `connection`. `bytes` are all that the client sent. */
  protected abstract goOn(response: WireResponse, connection: UpstreamConnection, bytes: Buffer): void

  start(bytes: Buffer): void {
    this.#connection!.beginShort(this.question(bytes.length - this.bodyAt), bytes, this.bodyAt, this)
    // Only now, while the upstream already works on the request.
    this.#text = bytes.toString('latin1')
  }

  onWhole(head: AnswerHead, bytes: Buffer, bodyAt: number): boolean {
    const { keepS } = this.#lane
    const start = this.answer(head, bytes, bodyAt, keepS)
    if (start === undefined) return false
    this.#connection = undefined
    this.#lane.answerShort(start, bytes, bodyAt, keepS === 0)
    return true
  }

  onLonger(start?: AnswerStart): void {
    this.#lengthen(start)
  }

  onClientGone(): void {
    if (this.#connection) this.lengthen()
    else this.onLost()
  }

  /** Ends the request as if its connection had failed. */
  giveUp(why: string): void {
    const connection = this.#connection
    this.lengthen()
    connection?.giveUp(new Error(why))
  }

  lengthen(): void {
    this.#lengthen()
  }

  /**
   * Moves the request to the full path. The client of a stream gets the stream's beginning first, because the move takes
   * longer than everything before it.
   */
  #lengthen(start?: AnswerStart): void {
    const connection = this.#connection
    if (!connection) return
    this.#connection = undefined
    const { keepS } = this.#lane
    const isBegun = start !== undefined && this.#begin(start, keepS)
    // Not from the shared pool: the bytes may be kept for as long as a stream lasts.
    const bytes = Buffer.allocUnsafeSlow(this.#text.length)
    bytes.write(this.#text, 'latin1')
    const response = this.#lane.lengthen(bytes)
    if (isBegun) response.goOnAfter(start.head, keepS === 0, start.bytes.length - start.bodyAt)
    this.goOn(response, connection, bytes)
    // The full path did not take the connection over, because the client or the engine has gone: its answer is unwanted.
    if (connection.isShort) connection.destroy()
  }

  #begin({ head, bytes, bodyAt }: AnswerStart, keepS: number): boolean {
    const isStream = head.statusCode === 200 && head.isChunked && isPlainStream(head)
    const text = isStream && areWholeChunks(bytes, bodyAt) ? this.streamHead(head, keepS) : undefined
    if (text === undefined) return false
    this.#lane.beginShort(text, bytes, bodyAt)
    return true
  }
}
