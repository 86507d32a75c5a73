import type { IncomingHttpHeaders } from 'node:http'
import type { HttpRequest } from '../../http/exchange.ts'

/** A translated request. It keeps the original's connection, and those headers that describe the client. */
export class AskedRequest implements HttpRequest {
  readonly method = 'POST'
  readonly url: string
  readonly httpVersion: string
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: string[]
  readonly socket: HttpRequest['socket']
  readonly complete = true
  readonly readableLength = 0
  readonly whole: Buffer

  constructor(came: HttpRequest, path: string, body: object) {
    this.url = path
    this.httpVersion = came.httpVersion
    this.socket = came.socket
    this.whole = Buffer.from(JSON.stringify(body))
    const names = Object.keys(came.headers).filter((name) => !OF_ITS_BODY.has(name))
    const kept = Object.fromEntries(names.map((name) => [name, came.headers[name]]))
    this.headers = { ...kept, 'content-type': 'application/json', 'content-length': String(this.whole.length) }
    this.rawHeaders = [...rawWithout(came.rawHeaders), 'content-type', 'application/json']
  }

  get destroyed(): boolean {
    return this.socket.destroyed
  }

  /** The request is complete, so it has no further events. */
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

/** Headers that describe the original body or its answer. The gateway reads the answer, so it must not be compressed. */
const OF_ITS_BODY: ReadonlySet<string> = new Set([
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'expect',
  'accept-encoding',
  'accept',
])

function rawWithout(raw: readonly string[]): string[] {
  return raw.filter((_, i) => !OF_ITS_BODY.has(raw[i - (i % 2)]!.toLowerCase()))
}
