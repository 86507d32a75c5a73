import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { AnswerHead } from './upstream/answer-parser.ts'
import type { Instead } from './upstream/forward-headers.ts'

/**
 * The part of a request that inference handlers may use. Both node:http's request and the fast server's (`fast/`)
 * implement it, so one handler serves both.
 */
export interface HttpRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly httpVersion: string
  readonly headers: IncomingHttpHeaders
  /** Name, value, name, value …, as they came. */
  readonly rawHeaders: string[]
  readonly socket: Socket
  /** The whole request has arrived. */
  readonly complete: boolean
  readonly destroyed: boolean
  /** Bytes of the body that have arrived and were not read. */
  readonly readableLength: number
  /** The body, when it arrived together with the head, so that there is no need to wait for it. */
  readonly whole?: Buffer | undefined
  on(event: 'data', listener: (piece: Buffer) => void): this
  once(event: 'end' | 'close', listener: () => void): this
  once(event: 'error', listener: (error: Error) => void): this
  off(event: 'data', listener: (piece: Buffer) => void): this
  off(event: 'end' | 'close', listener: () => void): this
  off(event: 'error', listener: (error: Error) => void): this
  pause(): this
  resume(): this
}

/** The part of a response that inference handlers may use. */
export interface HttpResponse {
  readonly req: HttpRequest
  statusCode: number
  statusMessage: string
  readonly headersSent: boolean
  readonly writableEnded: boolean
  readonly chunkedEncoding: boolean
  setHeader(name: string, value: string): this
  writeHead(status: number, headers: Record<string, string>): this
  writeHead(status: number, message: string, headers: string[]): this
  /** Sends on an upstream's head as it was parsed. Where it is missing, use `writeHead`. */
  writePassedOn?(head: AnswerHead, ours: Instead): this
  /** False when the client does not keep up; `drain` follows. */
  write(piece: string | Buffer): boolean
  /** Sends whole chunks, still with their chunk framing. Where it is missing, the caller unpacks them and uses `write`. */
  writeChunks?(chunks: Buffer): boolean
  /** The same for the last chunks, which include the end of the body. */
  endChunks?(chunks: Buffer): this
  end(piece?: string | Buffer): this
  /** Sends the head now if it is held back to go out with the first piece. */
  flushHeaders(): void
  writeContinue(): void
  /** Destroys the connection, too. */
  destroy(): this
  once(event: 'close' | 'finish' | 'drain', listener: () => void): this
}

/** A handler for requests of node:http and of the fast server. */
export type ExchangeHandler = (request: HttpRequest, response: HttpResponse) => Promise<void> | void
