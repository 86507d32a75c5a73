import type { HttpRequest } from '../../exchange.ts'
import type { RepeatedHead } from './head-template.ts'
import type { WireResponse } from '../fast-response.ts'
import type { JoinedHead } from './head-parts.ts'

/**
 * A way for requests of which nearly all is known beforehand: their head has come before, they are here with their whole
 * body, and an answer that is as short is expected. Nothing is made for them that is not needed then. Whatever turns out
 * to be otherwise becomes an ordinary request, at any moment.
 */
export interface Shortcut<Known = unknown> {
  /** What is known of all requests with this head, whoever sends it; undefined when they do not go this way. */
  know(request: HttpRequest): Known | undefined
  /**
   * Undefined or thrown, and nothing done, when this one has to go the long way. `head` has just matched what is in `bytes`,
   * which are good until this returns.
   */
  take(known: Known, bytes: Buffer, head: RepeatedHead, lane: ShortLane): ShortExchange | undefined
}

/** One request on the shortcut. */
export interface ShortExchange {
  /** `bytes` are those that it was taken with, still good until this returns. */
  start(bytes: Buffer): void
  /** Its answer is the system's to send: at once, or later, when the client was slow. */
  onSent(isLater: boolean): void
  onClientGone(): void
  /** Makes an ordinary request of it. */
  lengthen(): void
}

/** What the client's connection does for a request on the shortcut. */
export interface ShortLane {
  /** It comes from this machine. */
  readonly isLocal: boolean
  /** For how long the connection is kept after this answer; 0 when it is not. */
  readonly keepS: number
  /** Sends the whole answer: `head`, and what is in `bytes` from `bodyAt` on. */
  answerShort(head: JoinedHead, bytes: Buffer, bodyAt: number, isLast: boolean): void
  /** Sends the beginning of an answer in chunks: `head`, and what is in `bytes` from `bodyAt` on. `lengthen` follows. */
  beginShort(head: JoinedHead, bytes: Buffer, bodyAt: number): void
  /** An ordinary request and its answer in the place of this one, whose bytes these are. */
  lengthen(bytes: Buffer): WireResponse
}
