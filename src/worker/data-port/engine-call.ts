import { ConnectionPool } from '../../http/upstream/connection-pool.ts'
import { AppError } from '../../platform/errors.ts'
import type { HttpRequest, HttpResponse } from '../../http/exchange.ts'
import { readBody } from '../../http/server.ts'
import { isUnsent } from '../../http/upstream/is-unsent.ts'
import { Instead } from '../../http/upstream/forward-headers.ts'
import { notForEngines, type HeaderNames } from '../../http/upstream/passed-headers.ts'
import { forward, type AnswerObserver, type Forwarded, type Forwarder, type Upstream } from '../../http/proxy.ts'
import type { UpstreamConnection } from '../../http/upstream/upstream-connection.ts'
import type { AnswerMeter } from '../report/answer-meter.ts'
import type { EngineTrace } from './engine-trace.ts'
import { refuse } from './refuse.ts'
import { replaceModel } from './replace-model.ts'
import type { ServedReplica } from './target.ts'

/**
 * The longest body that is buffered to replace the model's name in it. Other bodies are streamed, whatever their
 * length.
 */
const MOST_BODY_BYTES = 64 * 1024 * 1024

/**
 * Sends a request to a replica's engine and counts it until its end. A request whose body needs no change has been sent
 * when this returns.
 */
export function callEngine(
  request: HttpRequest,
  response: HttpResponse,
  replica: ServedReplica,
  path: string,
  pool: ConnectionPool | undefined,
  watch: Watch = {},
): Promise<void> | void {
  const call = new EngineCall(request, response, replica, path, pool, watch)
  const { requestModel } = replica
  if (requestModel === undefined || !mayBeJson(request)) return call.send()
  return readBody(request, MOST_BODY_BYTES).then(
    (body) => call.send(replaceModel(body, requestModel)),
    (error: Error) => call.fail(error),
  )
}

/** Continues a request that was already sent to the engine and is already counted. */
export function goOnCalling(
  request: HttpRequest,
  response: HttpResponse,
  replica: ServedReplica,
  path: string,
  pool: ConnectionPool,
  { meter, done, connection, body }: CallBegun,
): void {
  new EngineCall(request, response, replica, path, pool, { meter }, done).send(body, connection)
}

interface CallBegun extends Watch {
  done: () => void
  connection: UpstreamConnection
  body: Buffer
}

/** Observers of the answer's bytes. */
interface Watch {
  meter?: AnswerMeter | undefined
  trace?: EngineTrace | undefined
}

class EngineCall implements Forwarder {
  readonly #request: HttpRequest
  readonly #response: HttpResponse
  readonly #replica: ServedReplica
  readonly #path: string
  readonly #pool: ConnectionPool | undefined
  readonly #watch: Watch
  readonly #done: () => void

  constructor(
    request: HttpRequest,
    response: HttpResponse,
    replica: ServedReplica,
    path: string,
    pool: ConnectionPool | undefined,
    watch: Watch,
    done = replica.beginRequest(),
  ) {
    this.#pool = pool
    this.#watch = watch
    this.#request = request
    this.#response = response
    this.#replica = replica
    this.#path = path
    this.#done = done
  }

  send(body?: Buffer, sentOn?: UpstreamConnection): void {
    // Read again: the engine may have ended while the body arrived.
    const { port, key } = this.#replica
    if (port === undefined) {
      // The same rule as in `noAnswer`.
      const code = sentOn ? 'bad_gateway' : 'unavailable'
      return this.fail(new AppError(code, `The engine of ${key} has ended.`))
    }
    const { meter, trace } = this.#watch
    const upstream = engineAt(port, this.#path, this.#pool)
    upstream.sentOn = sentOn
    upstream.observer = trace ? both(meter, trace) : meter
    if (trace) upstream.headers = new Instead(FOR_US_TRACED, upstream.headers.lines + trace.sent())
    forward(this.#request, this.#response, upstream, this, body)
  }

  onForwarded(result: Forwarded): void {
    const { meter, trace } = this.#watch
    meter?.end(result.outcome)
    trace?.end(result.outcome, 'error' in result ? result.error.message : undefined)
    this.#watch.trace = undefined
    if (result.outcome === 'unreachable') this.fail(noAnswer(this.#replica, result.error))
    else this.#done()
  }

  fail(error: Error): void {
    this.#done()
    this.#watch.trace?.end('failed', error.message)
    if (!(error instanceof AppError)) throw error
    if (this.#response.headersSent) this.#response.destroy()
    else refuse(this.#request, this.#response, error)
  }
}

/**
 * 503 when the engine never received the request, so that the gateway does not count it among those that ended with an
 * engine; else 502.
 */
export function noAnswer({ key }: ServedReplica, cause: Error): AppError {
  const code = isUnsent(cause) ? 'unavailable' : 'bad_gateway'
  return new AppError(code, `The engine of ${key} did not answer: ${cause.message}.`, { cause })
}

export function engineAt(port: number, path: string, pool?: ConnectionPool, names: HeaderNames = FOR_US): Upstream {
  return { host: '127.0.0.1', port, path, pool, headers: new Instead(names, `host: 127.0.0.1:${port}\r\n`) }
}

/** Shorter than the 5 s or more for which engines keep idle connections. */
const KEPT_MS = 2000

/**
 * Connections to engines. After a stream llama-server closes connections that it promised to keep, so none is reused
 * after a chunked answer: a new one takes a fraction of a millisecond, which is nothing beside a stream and as much as
 * everything else beside a short answer.
 */
export function enginePool(): ConnectionPool {
  return new ConnectionPool({ idleMs: KEPT_MS, keepsAfterChunks: false })
}

/** Headers of a gateway's request that are not forwarded to the engine. */
const FOR_US: HeaderNames = notForEngines()
/** The same, with our own span in the trace in place of the gateway's. */
const FOR_US_TRACED = notForEngines(['traceparent'])

function both(meter: AnswerMeter | undefined, trace: EngineTrace): AnswerObserver {
  return {
    head(head) {
      meter?.head(head)
      trace.head(head)
    },
    piece(bytes) {
      meter?.piece(bytes)
      trace.piece()
    },
  }
}

/**
 * Whether the body may be JSON, by its type. Clients often set no type or a wrong one, so a body is searched unless its
 * type rules JSON out. Forms with files are streamed, and their field "model" is not replaced.
 */
function mayBeJson({ headers }: HttpRequest): boolean {
  const isEmpty = headers['content-length'] === undefined && headers['transfer-encoding'] === undefined
  const type = headers['content-type'] ?? ''
  return !isEmpty && !/^\s*(multipart|audio|image|video)\/|octet-stream/i.test(type)
}
