import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { createServer } from '../../http/server/node-http.ts'

export interface ServedFile {
  body: Buffer
  etag?: string | undefined
  lastModified?: string | undefined
  headers?: Record<string, string>
}

export interface SeenRequest {
  method: string
  /** Includes the query. */
  path: string
  range: string | undefined
  ifRange: string | undefined
  authorization: string | undefined
}

export type Behaviour = (request: IncomingMessage, response: ServerResponse, file: ServedFile | undefined) => void

/** A file server with ranges and etags. It can be told to misbehave; each behaviour lasts for one request. */
export class FileServer {
  readonly files = new Map<string, ServedFile>()
  readonly requests: SeenRequest[] = []
  readonly behaviours: Behaviour[] = []
  #server: Server
  #port = 0

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(): Promise<FileServer> {
    const server = new FileServer(createServer())
    await server.restart()
    onTestFinished(() => server.stop())
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  get host(): string {
    return `127.0.0.1:${this.#port}`
  }

  /** Puts a file there, with an etag of its content unless told otherwise; returns its URL. */
  put(
    path: string,
    body: Buffer,
    facts: Omit<ServedFile, 'body'> = { etag: `"${sha256Of(body).slice(0, 16)}"` },
  ): string {
    this.files.set(path, { body, ...facts })
    return `${this.url}${path}`
  }

  ranges(path: string): (string | undefined)[] {
    return this.requests.filter((request) => request.path === path).map(({ range }) => range)
  }

  /** Breaks all connections, like a server that dies. */
  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve))
  }

  async restart(): Promise<void> {
    this.#server = createServer((request, response) => this.#answer(request, response))
    this.#server.listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#port = (this.#server.address() as AddressInfo).port
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { range, 'if-range': ifRange, authorization } = request.headers
    const path = request.url!
    this.requests.push({ method: request.method!, path, range, ifRange: ifRange?.toString(), authorization })
    response.on('error', () => {})
    const behaviour = this.behaviours.shift() ?? serveFile
    behaviour(request, response, this.files.get(decodeURIComponent(path.split('?')[0]!)))
  }
}

/** Like a correct server. */
export function serveFile(request: IncomingMessage, response: ServerResponse, file: ServedFile | undefined): void {
  if (!file) return void response.writeHead(404).end('there is nothing here')
  const { status, headers, body } = offer(request, file)
  response.writeHead(status, headers)
  response.end(request.method === 'HEAD' ? undefined : body)
}

/** Promises everything and breaks off after some bytes. */
export function cutAfter(bytes: number): Behaviour {
  return (request, response, file) => {
    const { status, headers, body } = offer(request, file!)
    response.writeHead(status, headers)
    response.write(body.subarray(0, bytes), () => response.destroy())
  }
}

/** Sends some bytes and then nothing more, for ever. */
export function stallAfter(bytes: number): Behaviour {
  return (request, response, file) => {
    const { status, headers, body } = offer(request, file!)
    response.writeHead(status, headers)
    if (bytes > 0) response.write(body.subarray(0, bytes))
    else response.flushHeaders()
  }
}

/** Answers with the whole file whatever was asked for. */
export const ignoreRange: Behaviour = (request, response, file) => {
  delete request.headers.range
  serveFile(request, response, file)
}

export function answer(status: number, headers: Record<string, string> = {}): Behaviour {
  return (_request, response) => void response.writeHead(status, headers).end()
}

export function redirectTo(location: string, status = 302): Behaviour {
  return answer(status, { location })
}

export function sha256Of(body: Buffer): string {
  return createHash('sha256').update(body).digest('hex')
}

/** Bytes that are the same for the same seed, and differ everywhere. */
export function bytes(count: number, seed = 'a'): Buffer {
  const blocks: Buffer[] = []
  for (let i = 0; i * 32 < count; i += 1) blocks.push(createHash('sha256').update(`${seed} ${i}`).digest())
  return Buffer.concat(blocks).subarray(0, count)
}

function offer(
  request: IncomingMessage,
  file: ServedFile,
): { status: number; headers: Record<string, string>; body: Buffer } {
  const { body, etag, lastModified } = file
  const headers: Record<string, string> = {
    ...(etag ? { etag } : {}),
    ...(lastModified ? { 'last-modified': lastModified } : {}),
    ...file.headers,
  }
  const ifRange = request.headers['if-range']
  const from = /^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1]
  if (from === undefined || (ifRange !== undefined && ifRange !== etag && ifRange !== lastModified)) {
    return { status: 200, headers: { ...headers, 'content-length': String(body.length) }, body }
  }
  if (Number(from) >= body.length) {
    return { status: 416, headers: { 'content-range': `bytes */${body.length}` }, body: Buffer.alloc(0) }
  }
  const rest = body.subarray(Number(from))
  const contentRange = `bytes ${from}-${body.length - 1}/${body.length}`
  return {
    status: 206,
    headers: { ...headers, 'content-range': contentRange, 'content-length': String(rest.length) },
    body: rest,
  }
}
