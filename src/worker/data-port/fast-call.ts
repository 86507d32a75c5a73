import type { AnswerHead } from '../../http/upstream/answer-parser.ts'
import type { ConnectionPool } from '../../http/upstream/connection-pool.ts'
import type { HttpRequest } from '../../http/exchange.ts'
import { Instead, linesPassedOn } from '../../http/upstream/forward-headers.ts'
import { notForEngines } from '../../http/upstream/passed-headers.ts'
import { passedHead, type OurWords } from '../../http/fast/path/answer-head.ts'
import { ShortPassage } from '../../http/fast/path/fast-exchange.ts'
import type { UpstreamConnection } from '../../http/upstream/upstream-connection.ts'
import { idIn } from '../../http/fast/path/head-template.ts'
import type { ShortLane, Shortcut } from '../../http/fast/path/fast-path.ts'
import type { WireResponse } from '../../http/fast/fast-response.ts'
import type { JoinedHead } from '../../http/fast/path/head-parts.ts'
import type { WorkerCounts } from '../report/worker-metrics.ts'
import type { AnswerMeter } from '../report/answer-meter.ts'
import { goOnCalling } from './engine-call.ts'
import { checkKey, modelNameIn, parseTarget, type Replicas, type ServedReplica } from './target.ts'

export interface EngineShortcutDeps {
  replicas: Replicas
  dataKey: () => string | undefined
  pool: ConnectionPool
  counts?: Pick<WorkerCounts, 'meter'> | undefined
}

/** What all requests with one head have in common. */
interface Known {
  id: string
  generation: number
  path: string
  /** The key in the head; it was right when this entry was made. */
  dataKey: string
  modelName: string | undefined
  /** The header lines that are forwarded, and the whole start of a request made from them, by engine port. */
  lines: string
  sent: { port: number; start: Buffer } | undefined
}

/** Longer bodies are not joined with their head into one write. */
const MOST_BODY_BYTES = 16 * 1024

/**
 * The fast path to a ready replica whose engine takes the request unchanged. Anything unusual, and any failure, is left
 * to `callEngine`.
 */
export function engineShortcut(deps: EngineShortcutDeps): Shortcut<Known> {
  return {
    know: (request) => know(request, deps.dataKey()),
    take(known, bytes, head, lane) {
      if (known.dataKey !== deps.dataKey() || head.length > MOST_BODY_BYTES) return undefined
      const replica = deps.replicas.find(known.id)
      if (!replica || !isMeant(known, replica)) return undefined
      return new ShortEngineCall(deps, replica, { known, requestId: idIn(bytes, head), bodyAt: head.bodyAt }, lane)
    },
  }
}

function know(request: HttpRequest, dataKey: string | undefined): Known | undefined {
  if (request.method !== 'POST') return undefined
  try {
    checkKey(request, dataKey)
    const lines = linesPassedOn(request.rawHeaders, WITHOUT_OURS, true)
    return { ...parseTarget(request), dataKey: dataKey!, modelName: modelNameIn(request), lines, sent: undefined }
  } catch {
    return undefined
  }
}

const WITHOUT_OURS = new Instead(notForEngines(['x-request-id']), '')

function isMeant({ generation, modelName }: Known, { spec, state, port, requestModel }: ServedReplica): boolean {
  if (spec.generation !== generation || state !== 'ready' || port === undefined) return false
  return requestModel === undefined && (modelName === undefined || modelName === spec.model_name)
}

/** A request that the engine answers at once, or that is handed over to `callEngine`. */
class ShortEngineCall extends ShortPassage {
  readonly #pool: ConnectionPool
  readonly #replica: ServedReplica
  readonly #asked: Asked
  readonly #meter: AnswerMeter | undefined
  readonly #done: () => void

  constructor({ pool, counts }: EngineShortcutDeps, replica: ServedReplica, asked: Asked, lane: ShortLane) {
    super(lane, asked.bodyAt, pool.take({ host: '127.0.0.1', port: replica.port! }))
    this.#pool = pool
    this.#replica = replica
    this.#asked = asked
    this.#meter = counts?.meter(asked.known.id, replica.spec.model_name)
    this.#done = replica.beginRequest()
  }

  protected override question(length: number): JoinedHead {
    const { known, requestId } = this.#asked
    const isNamed = requestId !== undefined
    const start = startFor(known, this.#replica.port!, isNamed)
    return { start, id: requestId ?? '', middle: isNamed ? SECOND_LENGTH : FIRST_LENGTH, length, end: LAST_LINE }
  }

  protected override answer(head: AnswerHead, bytes: Buffer, bodyAt: number, keepS: number): JoinedHead {
    this.#meter?.whole(head, bytes, bodyAt)
    return passedHead(head, NOTHING, bytes.length - bodyAt, keepS)
  }

  protected override streamHead(head: AnswerHead, keepS: number): JoinedHead {
    return passedHead(head, NOTHING, -1, keepS)
  }

  override onSent(): void {
    this.#meter?.end('answered')
    this.#done()
  }

  protected override onLost(): void {
    this.#meter?.end('client gone')
    this.#done()
  }

  protected override goOn(response: WireResponse, connection: UpstreamConnection, bytes: Buffer): void {
    const { known } = this.#asked
    const begun = { meter: this.#meter, done: this.#done, connection, body: bytes.subarray(this.bodyAt) }
    goOnCalling(response.req, response, this.#replica, known.path, this.#pool, begun)
  }
}

interface Asked {
  known: Known
  requestId: string | undefined
  bodyAt: number
}

const NOTHING: OurWords = { names: new Set(), id: undefined, lines: '' }
const FIRST_LENGTH = Buffer.from('content-length: ', 'latin1')
const SECOND_LENGTH = Buffer.from('\r\ncontent-length: ', 'latin1')
const LAST_LINE = Buffer.from('\r\nconnection: keep-alive\r\n\r\n', 'latin1')

/**
 * The bytes with which every request with this head to this engine's port begins, up to its id: either all of them have
 * an id or none has.
 */
function startFor(known: Known, port: number, isNamed: boolean): Buffer {
  if (known.sent?.port === port) return known.sent.start
  const name = isNamed ? 'x-request-id: ' : ''
  const start = Buffer.from(`POST ${known.path} HTTP/1.1\r\n${known.lines}host: 127.0.0.1:${port}\r\n${name}`, 'latin1')
  known.sent = { port, start }
  return start
}
