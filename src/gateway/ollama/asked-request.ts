import type { IncomingHttpHeaders } from 'node:http'
import type { HttpRequest } from '../../http/exchange.ts'

/** A request that has been translated: of the one that came it has the connection and what its headers say of the client. */
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

  /** It has come whole: nobody will hear anything more of it. */
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

/** What was said of the body that came. The answer is read here, so it must not come compressed. */
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
