import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { AnswerHead } from './upstream/answer-parser.ts'
import type { Instead } from './upstream/forward-headers.ts'

/**
 * What handlers on the way of an inference request may use of a request: node:http's has it, and so has the one of
 * platform/wire, so that one handler serves both.
 */
export interface HttpRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly httpVersion: string
  readonly headers: IncomingHttpHeaders
  /** Name, value, name, value …, as they came. */
  readonly rawHeaders: string[]
  readonly socket: Socket
  /** All of it has come. */
  readonly complete: boolean
  readonly destroyed: boolean
  /** What has come of the body and was not read. */
  readonly readableLength: number
  /** The body, where it came with the head; then it need not be waited for. */
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

/** The same of a response. */
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
  /** The same for a head that was read here and is passed on. Where it is missing, `writeHead` does it. */
  writePassedOn?(head: AnswerHead, ours: Instead): this
  /** False when the client does not keep up: there will be a `drain`. */
  write(piece: string | Buffer): boolean
  /** The same for pieces in the chunks in which they came, each of them whole. Where it is missing, they are unpacked. */
  writeChunks?(chunks: Buffer): boolean
  /** The same for the last of them, with the end of the body. */
  endChunks?(chunks: Buffer): this
  end(piece?: string | Buffer): this
  /** Sends the head when it waits for something to be sent with. */
  flushHeaders(): void
  writeContinue(): void
  /** With its connection. */
  destroy(): this
  once(event: 'close' | 'finish' | 'drain', listener: () => void): this
}

/** A handler that both kinds can be given to. */
export type ExchangeHandler = (request: HttpRequest, response: HttpResponse) => Promise<void> | void
