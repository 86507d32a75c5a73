import type { AnswerHead, AnswerStart } from '../../upstream/answer-parser.ts'
import { isPlainStream } from '../../proxy.ts'
import type { ShortCall, UpstreamConnection } from '../../upstream/upstream-connection.ts'
import { areWholeChunks } from '../chunk-reader.ts'
import type { ShortExchange, ShortLane } from './fast-path.ts'
import type { WireResponse } from '../fast-response.ts'
import type { JoinedHead } from './head-parts.ts'

/**
 * One request on its way by the shortcut: sent in one piece, answered in one piece. Whatever else happens makes an ordinary
 * request of it, which is told of it in the same moment.
 */
export abstract class ShortPassage implements ShortExchange, ShortCall {
  readonly #lane: ShortLane
  /** All that the client has sent, byte for byte: a text is made more quickly than a buffer, and sooner forgotten. */
  #text = ''
  /** Where in it the body begins. */
  protected readonly bodyAt: number
  /** Until it is somebody else's: that of the next request, or of an ordinary passage. */
  #connection: UpstreamConnection | undefined

  constructor(lane: ShortLane, bodyAt: number, connection: UpstreamConnection) {
    this.#lane = lane
    this.bodyAt = bodyAt
    this.#connection = connection
  }

  abstract onSent(isLater: boolean): void
  /** What is sent to the upstream before the body, which is so long. */
  protected abstract question(length: number): JoinedHead
  /**
   * What is sent to the client before the body, which is in `bytes` from `bodyAt` on; undefined, and nothing done, when this
   * answer is not one to be passed on.
   */
  protected abstract answer(head: AnswerHead, bytes: Buffer, bodyAt: number, keepS: number): JoinedHead | undefined
  /** The head of a stream of events for the client, whose own has just come; undefined when it is not one to be passed on. */
  protected abstract streamHead(head: AnswerHead, keepS: number): JoinedHead | undefined
  /** The client has gone while its answer was on the way to it. */
  protected abstract onLost(): void
  /** It goes on as an ordinary request that was sent on this connection already. `bytes` are all that the client has sent. */
  protected abstract goOn(response: WireResponse, connection: UpstreamConnection, bytes: Buffer): void

  start(bytes: Buffer): void {
    this.#connection!.beginShort(this.question(bytes.length - this.bodyAt), bytes, this.bodyAt, this)
    // The upstream has it by now, and works on it meanwhile.
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

  /** As if its connection had failed. */
  giveUp(why: string): void {
    const connection = this.#connection
    this.lengthen()
    connection?.giveUp(new Error(why))
  }

  lengthen(): void {
    this.#lengthen()
  }

  /**
   * A client that waits for a stream has its beginning before anything else is done about it, which takes longer than all
   * that it has waited for here until now.
   */
  #lengthen(start?: AnswerStart): void {
    const connection = this.#connection
    if (!connection) return
    this.#connection = undefined
    const { keepS } = this.#lane
    const isBegun = start !== undefined && this.#begin(start, keepS)
    // Alone in its memory: it may be kept for as long as a stream lasts.
    const bytes = Buffer.allocUnsafeSlow(this.#text.length)
    bytes.write(this.#text, 'latin1')
    const response = this.#lane.lengthen(bytes)
    if (isBegun) response.goOnAfter(start.head, keepS === 0, start.bytes.length - start.bodyAt)
    this.goOn(response, connection, bytes)
    // Nobody has taken it over: the client has gone, or the engine. What comes on it would be another answer to nobody.
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
