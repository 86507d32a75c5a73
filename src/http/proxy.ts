import type { AnswerHead } from './upstream/answer-parser.ts'
import { clientOf, type ClientWatcher } from './upstream/client-watch.ts'
import type { ConnectionPool, PooledAddress } from './upstream/connection-pool.ts'
import type { HttpRequest, HttpResponse } from './exchange.ts'
import { instead, linesPassedOn, passOn, type Instead } from './upstream/forward-headers.ts'
import type { UpstreamTls } from '../platform/tls/client-tls.ts'
import { UpstreamConnection, type CallEvents } from './upstream/upstream-connection.ts'

export interface Upstream extends PooledAddress {
  path: string
  /** For upstreams with TLS: the client and the expected certificate. */
  tls?: UpstreamTls | undefined
  /** Replace the client's headers of the same names. */
  headers: Instead
  /** Keeps connections for requests whose body was read already. Without it each request has its own connection. */
  pool?: ConnectionPool | undefined
  /** Text for an event stream that broke off halfway, so that the client learns why. */
  lastWords?(): string
  /**
   * For a response that has already begun as an event stream: the event that replaces an answer that is not an event
   * stream. `text` is the beginning of that answer.
   */
  asEvent?(status: number, text: string): string
  /** Whether the head of an answer is a refusal by the worker, of which nothing reaches the client. */
  isRefusal?(answer: { statusCode?: number | undefined; headers: Readonly<Record<string, unknown>> }): boolean
  /** Replace the answer's headers of the same names. */
  answerHeaders?: Instead
  /** Called for the head of the answer and for every piece of its body, so it must be cheap. */
  onHeard?(): void
  /** A connection on which the fast path has already sent the request; its answer is handled like any other. */
  sentOn?: UpstreamConnection | undefined
  /** Looks at the answer as it passes. */
  observer?: AnswerObserver | undefined
}

/** Called for every answer, so it must be cheap. The memory of a piece is reused for the next one. */
export interface AnswerObserver {
  head(head: AnswerHead): void
  /** A piece of the body; whole chunks with their framing, when it is forwarded in that form. */
  piece(bytes: Buffer): void
}

export type Forwarded =
  /** The upstream's answer, whatever its status, went to the client. */
  | { outcome: 'answered'; status: number }
  | { outcome: 'client gone' }
  /** Nothing has reached the client: another upstream may be tried. */
  | { outcome: 'unreachable'; error: Error }
  | { outcome: 'refused'; status: number }
  /** The answer broke off halfway. The client got `lastWords` or was cut off, so that it cannot mistake it for a whole one. */
  | { outcome: 'broken'; error: Error }

/** How long a client that already has its answer may go on sending its request. */
const REST_WITHIN_MS = 5000
/** Longer than any round trip. */
const STALE_WITHIN_MS = 1000

/** The caller of `forward`. */
export interface Forwarder {
  /** Called once, when the last byte was handed to the client's connection, or when either side has gone. */
  onForwarded(result: Forwarded): void
}

/** A forwarded request. */
export interface Sent {
  /** Ends the wait as if the upstream's connection had failed. Does nothing when the request is over. */
  giveUp(error: Error): void
}
export type Forward = typeof forward

/**
 * Forwards one request and streams the answer back unbuffered. `body` is sent when it was already read; otherwise the
 * request is streamed. When the client disconnects, the upstream request is cancelled. The forwarder gets the result by a
 * call instead of a promise, because each hop of a promise costs a short request more than its bytes.
 */
export function forward(
  request: HttpRequest,
  response: HttpResponse,
  upstream: Upstream,
  forwarder: Forwarder,
  body: Buffer | undefined = hasBody(request) ? request.whole : undefined,
): Sent | undefined {
  // The client may have gone while its body was read or another upstream was tried, and `close` is emitted only once.
  if (request.socket.destroyed) {
    forwarder.onForwarded({ outcome: 'client gone' })
    return undefined
  }
  const passage = new Passage(request, response, upstream, body, forwarder)
  passage.start()
  return passage
}

/** One request under way. An object without closures: there may be thousands of streams, each for hours. */
class Passage implements CallEvents, ClientWatcher, Sent {
  /** Set when the answer's chunks can go to the client as they are. */
  onChunks: ((chunks: Buffer, isEnd: boolean) => void) | undefined
  readonly #request: HttpRequest
  readonly #response: HttpResponse
  readonly #upstream: Upstream
  readonly #body: Buffer | undefined
  readonly #forwarder: Forwarder
  #connection: UpstreamConnection | undefined
  #head: AnswerHead | undefined
  #sentAtMs = 0
  #isFlushed = false
  #isWaiting = false
  #isBetweenEvents = true
  /** The beginning of an answer that the client gets as an event instead. */
  #told: Buffer[] | undefined
  /** The last chunks, with the end of the body; `onEnd`, which follows at once, sends them. */
  #lastChunks: Buffer | undefined
  #isOver = false

  constructor(
    request: HttpRequest,
    response: HttpResponse,
    upstream: Upstream,
    body: Buffer | undefined,
    forwarder: Forwarder,
  ) {
    this.#request = request
    this.#response = response
    this.#upstream = upstream
    this.#body = body
    this.#forwarder = forwarder
  }

  start(): void {
    clientOf(this.#request.socket).watch(this)
    const { sentOn } = this.#upstream
    if (sentOn) return this.#takeOver(sentOn)
    const isStreamed = this.#body === undefined && hasBody(this.#request)
    this.#send(isStreamed ? undefined : this.#upstream.pool)
    if (isStreamed) this.#stream()
  }

  onHead(head: AnswerHead): void {
    if (this.#isOver) return
    const upstream = this.#upstream
    // The rest of a refusal is read and dropped, so that its connection can be kept.
    if (upstream.isRefusal?.(head)) return this.#over({ outcome: 'refused', status: head.statusCode })
    // A response that has already begun continues with an event stream, or ends with an event that says why not.
    const isBegun = this.#response.headersSent
    const problem = isBegun ? undefined : begin(this.#response, head, upstream.answerHeaders)
    if (problem) {
      this.#over({ outcome: 'unreachable', error: problem })
      return this.#connection?.destroy()
    }
    this.#head = head
    upstream.onHeard?.()
    upstream.observer?.head(head)
    if (isBegun && !(head.statusCode === 200 && isPlainStream(head))) this.#told = []
    else if (head.isChunked && this.#response.chunkedEncoding && this.#response.writeChunks) {
      this.onChunks = (chunks, isEnd) => this.#passChunks(chunks, isEnd)
    }
  }

  onBody(piece: Buffer): void {
    if (this.#isOver) return
    this.#upstream.onHeard?.()
    this.#upstream.observer?.piece(piece)
    if (this.#told) return this.#tell(this.#told, piece)
    this.#isBetweenEvents = endsEvent(piece, piece.length)
    // The fast server copies what it is given; node:http keeps a reference.
    const isTaken = this.#response.write(this.#response.writeChunks ? piece : Buffer.from(piece))
    if (!isTaken) this.#waitForClient()
  }

  /** Sends the head alone when no body has arrived to share its write. */
  onPause(): void {
    if (this.#isFlushed || this.#isOver || !this.#head) return
    this.#isFlushed = true
    this.#response.flushHeaders()
  }

  onEnd(): void {
    // The pool may give the connection to another request from here on.
    this.#connection = undefined
    if (this.#isOver) return
    this.#response.once('finish', this.#onFinish)
    const last = this.#lastChunks
    this.#lastChunks = undefined
    if (last) this.#response.endChunks!(last)
    else this.#response.end(this.#told && this.#upstream.asEvent?.(this.#head!.statusCode, textOf(this.#told)))
  }

  onDrain(): void {
    if (!this.#isOver) this.#request.resume()
  }

  onFailed(error: NodeJS.ErrnoException): void {
    if (this.#isOver) return
    if (this.#head) {
      this.#over({ outcome: 'broken', error })
      return endBroken(this.#response, this.#head, this.#upstream, this.#isBetweenEvents)
    }
    if (this.#body && this.#isStale(error)) this.#send(undefined)
    else this.#over({ outcome: 'unreachable', error })
  }

  giveUp(error: Error): void {
    // The whole answer may have arrived, and be on its way to a slow client.
    if (this.#isOver || !this.#connection) return
    this.#connection.destroy()
    this.onFailed(error)
  }

  #send(pool: ConnectionPool | undefined): void {
    const upstream = this.#upstream
    const { tls } = upstream
    const connection = pool?.take(upstream, tls) ?? new UpstreamConnection(upstream, tls, (free) => free.destroy())
    this.#connection = connection
    this.#sentAtMs = performance.now()
    const method = this.#request.method ?? 'GET'
    connection.begin(method, requestHead(this.#request, this.#upstream, this.#body), this.#body, this)
  }

  #takeOver(connection: UpstreamConnection): void {
    this.#connection = connection
    this.#sentAtMs = connection.takenAtMs
    connection.lengthen(this.#request.method ?? 'GET', this)
  }

  #stream(): void {
    const isChunked = this.#request.headers['transfer-encoding'] !== undefined
    this.#request.on('data', (piece) => {
      const connection = this.#connection
      if (this.#isOver || !connection || piece.length === 0) return
      if (isChunked) connection.write(`${piece.length.toString(16)}\r\n`)
      let isTaken = connection.write(piece)
      if (isChunked) isTaken = connection.write('\r\n')
      if (!isTaken) this.#request.pause()
    })
    this.#request.once('end', () => isChunked && !this.#isOver && this.#connection?.write('0\r\n\r\n'))
  }

  /**
   * A kept connection may end just as it is used again. That says nothing about the upstream and no answer has begun, so
   * the request is sent once more on a new connection. The reset of a connection that was already closed arrives within a
   * round trip; an upstream that closes later has read the request, and may have worked on it.
   */
  #isStale({ code }: NodeJS.ErrnoException): boolean {
    const isEnd = code === 'ECONNRESET' || code === 'EPIPE'
    return isEnd && this.#connection!.isReused && performance.now() - this.#sentAtMs < STALE_WITHIN_MS
  }

  #passChunks(chunks: Buffer, isEnd: boolean): void {
    if (this.#isOver) return
    this.#upstream.onHeard?.()
    this.#upstream.observer?.piece(chunks)
    if (isEnd) return void (this.#lastChunks = chunks)
    this.#isBetweenEvents = endsEvent(chunks, chunks.length - 2)
    if (!this.#response.writeChunks!(chunks)) this.#waitForClient()
  }

  #tell(told: Buffer[], piece: Buffer): void {
    // A copy, because the next read reuses the memory.
    if (told.reduce((bytes, { length }) => bytes + length, 0) < MOST_TOLD_BYTES) told.push(Buffer.from(piece))
  }

  #waitForClient(): void {
    // One read may yield several pieces, each of which finds the client full.
    if (this.#isWaiting) return
    this.#isWaiting = true
    this.#connection?.pause()
    this.#response.once('drain', () => {
      this.#isWaiting = false
      this.#connection?.resume()
    })
  }

  readonly #onFinish = (): void => {
    if (this.#isOver) return
    this.#over({ outcome: 'answered', status: this.#head!.statusCode })
    if (this.#request.complete) return
    // The upstream has answered in full; the rest of the request is read and dropped.
    takeTheRest(this.#request)
  }

  onClientGone(): void {
    this.#over({ outcome: 'client gone' })
    this.#connection?.destroy()
  }

  #over(result: Forwarded): void {
    this.#isOver = true
    clientOf(this.#request.socket).unwatch(this)
    this.#forwarder.onForwarded(result)
  }
}

/** The most of an answer that is quoted in an event. */
const MOST_TOLD_BYTES = 4096

function textOf(pieces: readonly Buffer[]): string {
  return Buffer.concat(pieces).subarray(0, MOST_TOLD_BYTES).toString('utf8')
}

/** Whether the bytes before `end` complete an event of an event stream. */
function endsEvent(bytes: Buffer, end: number): boolean {
  if (bytes[end - 1] !== LF) return false
  return bytes[end - 2] === LF || (bytes[end - 2] === CR && bytes[end - 3] === LF)
}

const [CR, LF] = [0x0d, 0x0a]

/**
 * Reads and drops the rest of a request that was answered before it had arrived whole, for a while. Closing the connection
 * while the client still sends could destroy the answer on its way.
 */
export function takeTheRest(request: HttpRequest): void {
  if (request.complete || request.destroyed) return
  request.resume()
  const cut = setTimeout(() => request.socket.destroy(), REST_WITHIN_MS)
  cut.unref()
  const stop = (): void => clearTimeout(cut)
  request.once('end', stop).once('close', stop)
}

function requestHead(request: HttpRequest, upstream: Upstream, body: Buffer | undefined): string {
  const lines = linesPassedOn(request.rawHeaders, upstream.headers, body !== undefined)
  // Keep-alive even for a connection that is not kept: an upstream that is told "close" may hang up on a body that it does
  // not want to read, and its answer is then lost on the way.
  return `${request.method ?? 'GET'} ${upstream.path} HTTP/1.1\r\n${lines}${framing(request, body)}connection: keep-alive\r\n\r\n`
}

/** The body's framing, unless the client's own Content-Length is forwarded. */
function framing(request: HttpRequest, body: Buffer | undefined): string {
  if (body) return `content-length: ${body.length}\r\n`
  if (request.headers['transfer-encoding'] !== undefined) return 'transfer-encoding: chunked\r\n'
  // Requests of other methods must state that they have no body.
  const mayLackBody = ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE'].includes(request.method ?? '')
  return hasBody(request) || mayLackBody ? '' : 'content-length: 0\r\n'
}

function hasBody({ headers }: HttpRequest): boolean {
  return headers['transfer-encoding'] !== undefined || headers['content-length'] !== undefined
}

/** Sends the answer's head. Returns an error when the upstream's status or headers cannot be sent. */
function begin(response: HttpResponse, head: AnswerHead, ours = NOTHING_INSTEAD): Error | undefined {
  try {
    if (response.writePassedOn) response.writePassedOn(head, ours)
    else response.writeHead(head.statusCode, head.statusMessage, passOn(head.rawHeaders, ours))
  } catch (error) {
    response.statusMessage = ''
    return error as Error
  }
  return undefined
}

const NOTHING_INSTEAD = instead({})

/** An event can be added only to an uncompressed event stream whose length was not announced; others are cut. */
function endBroken(response: HttpResponse, head: AnswerHead, upstream: Upstream, isBetweenEvents: boolean): void {
  const isOpen = isPlainStream(head) && head.headers['content-length'] === undefined
  if (!isOpen || !upstream.lastWords) return void response.destroy()
  // The line breaks keep it apart from the event that broke off.
  response.end(`${isBetweenEvents ? '' : '\n\n'}${upstream.lastWords()}`)
}

/** An uncompressed event stream, to which events can be added. */
export function isPlainStream({ headers }: AnswerHead): boolean {
  return headers['content-encoding'] === undefined && headers['content-type']?.startsWith('text/event-stream') === true
}
