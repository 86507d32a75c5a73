import type { AnswerHead } from './upstream/answer-parser.ts'
import { clientOf, type ClientWatcher } from './upstream/client-watch.ts'
import type { ConnectionPool, PooledAddress } from './upstream/connection-pool.ts'
import type { HttpRequest, HttpResponse } from './exchange.ts'
import { instead, linesPassedOn, passOn, type Instead } from './upstream/forward-headers.ts'
import type { UpstreamTls } from '../platform/tls/client-tls.ts'
import { UpstreamConnection, type CallEvents } from './upstream/upstream-connection.ts'

export interface Upstream extends PooledAddress {
  path: string
  /** How it is known, when it is spoken to in TLS. */
  tls?: UpstreamTls | undefined
  /** Stronger than what the client sent. */
  headers: Instead
  /** Keeps connections for later requests, for requests whose body was read already. Without it each has its own. */
  pool?: ConnectionPool | undefined
  /** Written to an event stream that broke off halfway, so that the client learns why instead of guessing. */
  lastWords?(): string
  /**
   * For a response that has begun already, as a stream of events: what takes the place of an answer that is no such
   * stream. Of the answer's text it is given the beginning.
   */
  asEvent?(status: number, text: string): string
  /** Answers that are none, judged by their head: nothing of them reaches the client. */
  isRefusal?(answer: { statusCode?: number | undefined; headers: Readonly<Record<string, unknown>> }): boolean
  /** The same as `headers`, for what the client gets. */
  answerHeaders?: Instead
  /** Called for the head of the answer and for every piece of its body, so it must be cheap. */
  onHeard?(): void
  /** A connection on which it was sent already, as a short call; what that has to tell is told as of any other. */
  sentOn?: UpstreamConnection | undefined
  /** Looks at the answer as it passes. */
  observer?: AnswerObserver | undefined
}

/** Called on the way of each answer, so it must be cheap. Pieces are in memory that the next one comes into. */
export interface AnswerObserver {
  head(head: AnswerHead): void
  /** Of the body; in chunks, with their frames, when it is passed on so. */
  piece(bytes: Buffer): void
}

export type Forwarded =
  /** The upstream's answer, whatever its status, went to the client; or the client went away first. */
  | { outcome: 'answered'; status: number }
  | { outcome: 'client gone' }
  /** Nothing has reached the client yet: another upstream may be tried. */
  | { outcome: 'unreachable'; error: Error }
  | { outcome: 'refused'; status: number }
  /** The answer broke off halfway. The client got `lastWords`, or was cut off, so that it cannot take a part for the whole. */
  | { outcome: 'broken'; error: Error }

/** How long a client that has its answer already may go on sending its request. */
const REST_WITHIN_MS = 5000
/** Longer than a round trip anywhere. */
const STALE_WITHIN_MS = 1000

/** Who asked for a request to be sent on. */
export interface Forwarder {
  /** Told once, when the last byte has been handed to the client's connection or either side is gone. */
  onForwarded(result: Forwarded): void
}

/** A request that was sent on. */
export interface Sent {
  /** Waits no longer, as if its connection had failed. Does nothing when it is over. */
  giveUp(error: Error): void
}
export type Forward = typeof forward

/**
 * Sends one request on and streams the answer back unbuffered. `body` is sent when it was read already; otherwise the
 * request is streamed. The client's disconnect cancels the upstream request. Who asked is told what became of it without a
 * promise, since each hop of those costs a short request more than its bytes.
 */
export function forward(
  request: HttpRequest,
  response: HttpResponse,
  upstream: Upstream,
  forwarder: Forwarder,
  body: Buffer | undefined = hasBody(request) ? request.whole : undefined,
): Sent | undefined {
  // It may have gone while its body was read or another upstream was tried, and says so only once.
  if (request.socket.destroyed) {
    forwarder.onForwarded({ outcome: 'client gone' })
    return undefined
  }
  const passage = new Passage(request, response, upstream, body, forwarder)
  passage.start()
  return passage
}

/** One request on its way. An object and no closures: a stream may last for hours, and there may be thousands. */
class Passage implements CallEvents, ClientWatcher, Sent {
  /** For an answer that comes in chunks, to a client that can have them as they are. */
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
  /** The beginning of an answer that is told in an event instead of passed on. */
  #told: Buffer[] | undefined
  /** With its end; sent when that is told, which it is at once. */
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
    // What follows of it is read, and its connection kept.
    if (upstream.isRefusal?.(head)) return this.#over({ outcome: 'refused', status: head.statusCode })
    // What has begun already goes on with the same kind of answer, or ends with an event that says why not.
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
    // The wire copies what it is given, node:http holds on to it.
    const isTaken = this.#response.write(this.#response.writeChunks ? piece : Buffer.from(piece))
    if (!isTaken) this.#waitForClient()
  }

  /** When there is nothing yet to go with the head in one write. */
  onPause(): void {
    if (this.#isFlushed || this.#isOver || !this.#head) return
    this.#isFlushed = true
    this.#response.flushHeaders()
  }

  onEnd(): void {
    // It is somebody else's from here on, whatever becomes of our client.
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
    // All of the answer may be here, and on its way to a client that takes its time.
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
   * A kept connection may end in the very moment in which it is used again. Nothing of an answer has come, and its end is
   * no news of the upstream, so that one is asked once more, on a new connection. One that was closed before says so
   * within a round trip; whoever hangs up later has read the request, and perhaps worked for it.
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
    // A copy: what is read next comes into the same memory.
    if (told.reduce((bytes, { length }) => bytes + length, 0) < MOST_TOLD_BYTES) told.push(Buffer.from(piece))
  }

  #waitForClient(): void {
    // What was read in one piece may be several, and none of them is taken.
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
    // The upstream has said all it has to say; what it did not read of the request goes nowhere.
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

/** Of an answer that is no stream of events no more than this is told in one. */
const MOST_TOLD_BYTES = 4096

function textOf(pieces: readonly Buffer[]): string {
  return Buffer.concat(pieces).subarray(0, MOST_TOLD_BYTES).toString('utf8')
}

/** Whether what ends at `end` is a whole event, if it is a stream of events. */
function endsEvent(bytes: Buffer, end: number): boolean {
  if (bytes[end - 1] !== LF) return false
  return bytes[end - 2] === LF || (bytes[end - 2] === CR && bytes[end - 3] === LF)
}

const [CR, LF] = [0x0d, 0x0a]

/**
 * For a request that was answered before it had arrived whole: takes what still comes, for a while. A connection closed
 * on somebody who is sending can lose him the answer.
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
  // Also where it is not kept: one who is told "close" may hang up on a body that he does not want to read, and his answer
  // is then lost on the way.
  return `${request.method ?? 'GET'} ${upstream.path} HTTP/1.1\r\n${lines}${framing(request, body)}connection: keep-alive\r\n\r\n`
}

/** How long the body is, as far as its sender has said and it is not passed on anyway. */
function framing(request: HttpRequest, body: Buffer | undefined): string {
  if (body) return `content-length: ${body.length}\r\n`
  if (request.headers['transfer-encoding'] !== undefined) return 'transfer-encoding: chunked\r\n'
  // Other methods must say that they have none.
  const mayLackBody = ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE'].includes(request.method ?? '')
  return hasBody(request) || mayLackBody ? '' : 'content-length: 0\r\n'
}

function hasBody({ headers }: HttpRequest): boolean {
  return headers['transfer-encoding'] !== undefined || headers['content-length'] !== undefined
}

/** Sends the answer's head, or says why it cannot be sent: what an upstream calls a status or a header may be none. */
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

/** Words can be added only to events that are plain text and whose length was not told beforehand. */
function endBroken(response: HttpResponse, head: AnswerHead, upstream: Upstream, isBetweenEvents: boolean): void {
  const isOpen = isPlainStream(head) && head.headers['content-length'] === undefined
  if (!isOpen || !upstream.lastWords) return void response.destroy()
  // Else they would be taken for the rest of the event that broke off.
  response.end(`${isBetweenEvents ? '' : '\n\n'}${upstream.lastWords()}`)
}

/** Of events, and not compressed: something can be said in it. */
export function isPlainStream({ headers }: AnswerHead): boolean {
  return headers['content-encoding'] === undefined && headers['content-type']?.startsWith('text/event-stream') === true
}
