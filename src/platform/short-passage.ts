import type { AnswerHead } from './answer-parser.ts'
import type { ShortCall, UpstreamConnection } from './upstream-connection.ts'
import type { ShortExchange, ShortLane } from './wire/shortcut.ts'
import type { WireResponse } from './wire/wire-response.ts'

/**
 * One request on its way by the shortcut: sent in one piece, answered in one piece. Whatever else happens makes an ordinary
 * request of it, which is told of it in the same moment.
 */
export abstract class ShortPassage implements ShortExchange, ShortCall {
  readonly #lane: ShortLane
  /** All that the client has sent, byte for byte: a text is made more quickly than a buffer, and sooner forgotten. */
  readonly #text: string
  /** Until it is somebody else's: that of the next request, or of an ordinary passage. */
  #connection: UpstreamConnection | undefined

  constructor(lane: ShortLane, text: string, connection: UpstreamConnection) {
    this.#lane = lane
    this.#text = text
    this.#connection = connection
  }

  abstract onSent(isLater: boolean): void
  /** All that is sent to the upstream. */
  protected abstract question(): string
  /**
   * What is sent to the client before the body, which is in `bytes` from `bodyAt` on; undefined, and nothing done, when this
   * answer is not one to be passed on.
   */
  protected abstract answer(head: AnswerHead, bytes: Buffer, bodyAt: number, keepS: number): string | undefined
  /** The client has gone while its answer was on the way to it. */
  protected abstract onLost(): void
  /** It goes on as an ordinary request that was sent on this connection already. `bytes` are all that the client has sent. */
  protected abstract goOn(response: WireResponse, connection: UpstreamConnection, bytes: Buffer): void

  start(): void {
    this.#connection!.beginShort(this.question(), this)
  }

  onWhole(head: AnswerHead, bytes: Buffer, bodyAt: number): boolean {
    const { keepS } = this.#lane
    const start = this.answer(head, bytes, bodyAt, keepS)
    if (start === undefined) return false
    this.#connection = undefined
    this.#lane.answerShort(start, bytes, bodyAt, keepS === 0)
    return true
  }

  onLonger(): void {
    this.lengthen()
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
    const connection = this.#connection
    if (!connection) return
    this.#connection = undefined
    // Alone in its memory: it may be kept for as long as a stream lasts.
    const bytes = Buffer.allocUnsafeSlow(this.#text.length)
    bytes.write(this.#text, 'latin1')
    this.goOn(this.#lane.lengthen(bytes), connection, bytes)
    // Nobody has taken it over: the client has gone, or the engine. What comes on it would be another answer to nobody.
    if (connection.isShort) connection.destroy()
  }
}
