import type { HttpRequest } from '../../exchange.ts'
import type { RepeatedHead } from './head-template.ts'
import type { WireResponse } from '../fast-response.ts'
import type { JoinedHead } from './head-parts.ts'

/**
 * The fast path: for requests whose head was seen before, that arrive with their whole body, and that should get a short
 * answer. It allocates only what such a request needs. A request that turns out to be different moves to the full path at
 * any moment.
 */
export interface Shortcut<Known = unknown> {
  /** What holds for all requests with this head; undefined when they must take the full path. */
  know(request: HttpRequest): Known | undefined
  /**
   * Returns undefined or throws, and does nothing, when this request must take the full path. `head` has just matched
   * `bytes`, which are valid only until this returns.
   */
  take(known: Known, bytes: Buffer, head: RepeatedHead, lane: ShortLane): ShortExchange | undefined
}

/** One request on the fast path. */
export interface ShortExchange {
  /** `bytes` are those given to `take`, valid only until this returns. */
  start(bytes: Buffer): void
  /** The operating system has taken the whole answer. `isLater`: not at once, because the client was slow. */
  onSent(isLater: boolean): void
  onClientGone(): void
  /** Moves it to the full path. */
  lengthen(): void
}

/** What the client's connection does for a request on the fast path. */
export interface ShortLane {
  /** The client is on this machine. */
  readonly isLocal: boolean
  /** How long the connection is kept after this answer; 0 when it is closed. */
  readonly keepS: number
  /** Sends the whole answer: `head`, then `bytes` from `bodyAt` on. */
  answerShort(head: JoinedHead, bytes: Buffer, bodyAt: number, isLast: boolean): void
  /** Sends the beginning of an answer in chunks: `head`, then `bytes` from `bodyAt` on. `lengthen` follows. */
  beginShort(head: JoinedHead, bytes: Buffer, bodyAt: number): void
  /** Replaces this request, whose bytes these are, with one on the full path; returns its response. */
  lengthen(bytes: Buffer): WireResponse
}
