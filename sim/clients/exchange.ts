import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import type { IncomingHttpHeaders } from 'node:http'
import type { HttpRequest, HttpResponse } from '../../src/http/exchange.ts'

export interface Asked {
  id: number
  model: string
  tokens: number
  isStream: boolean
  session: string | undefined
  keepsAtLine: boolean
}

/** A client's connection. */
export class ClientSocket extends EventEmitter {
  destroyed = false
  readonly remoteAddress = '127.0.0.1'

  destroy(): void {
    if (this.destroyed) return
    this.destroyed = true
    this.emit('close')
  }
}

/** A request that came whole, as nearly all do. */
export class ClientRequest implements HttpRequest {
  readonly method = 'POST'
  readonly url = '/v1/chat/completions'
  readonly httpVersion = '1.1'
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: string[] = []
  readonly complete = true
  readonly destroyed = false
  readonly readableLength = 0
  readonly whole: Buffer
  readonly asked: Asked
  readonly socket: Socket

  constructor(asked: Asked, socket: ClientSocket) {
    this.asked = asked
    this.socket = socket as unknown as Socket
    this.headers = {
      'content-type': 'application/json',
      'x-request-id': `request-${asked.id}`,
      ...(asked.session === undefined ? {} : { 'x-session-id': asked.session }),
      ...(asked.keepsAtLine ? { 'x-flotilla-wait': 'keep-alive' } : {}),
    }
    this.whole = Buffer.from(JSON.stringify({ model: asked.model, stream: asked.isStream }))
  }

  on(): this {
    return this
  }

  once(): this {
    return this
  }

  off(): this {
    return this
  }

  pause(): this {
    return this
  }

  resume(): this {
    return this
  }
}

/** What the client gets. */
export class ClientResponse implements HttpResponse {
  readonly req: ClientRequest
  statusCode = 200
  statusMessage = ''
  headersSent = false
  writableEnded = false
  readonly chunkedEncoding = false
  /** All of the body so far. */
  text = ''
  isCut = false
  readonly #onDone: () => void
  #finish: (() => void)[] = []

  constructor(req: ClientRequest, onDone: () => void) {
    this.req = req
    this.#onDone = onDone
  }

  setHeader(): this {
    return this
  }

  writeHead(status: number): this {
    this.statusCode = status
    this.headersSent = true
    return this
  }

  write(piece: string | Buffer): boolean {
    this.headersSent = true
    this.text += piece.toString()
    return true
  }

  end(piece?: string | Buffer): this {
    if (this.writableEnded) return this
    if (piece !== undefined) this.write(piece)
    this.headersSent = true
    this.writableEnded = true
    this.#onDone()
    for (const listener of this.#finish) listener()
    return this
  }

  flushHeaders(): void {}

  writeContinue(): void {}

  destroy(): this {
    if (this.writableEnded) return this
    this.writableEnded = true
    this.isCut = true
    this.#onDone()
    return this
  }

  once(event: 'close' | 'finish' | 'drain', listener: () => void): this {
    if (event === 'finish') this.#finish.push(listener)
    return this
  }
}
