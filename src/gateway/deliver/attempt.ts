import { REFUSAL_HEADER } from '../../api/data-port.ts'
import { AppError } from '../../platform/errors.ts'
import { Instead, instead } from '../../http/upstream/forward-headers.ts'
import { notForClients, notForEngines, type HeaderNames } from '../../http/upstream/passed-headers.ts'
import type { Forwarded, Forwarder, Sent, Upstream } from '../../http/proxy.ts'
import { errorEvent } from '../access/api-errors.ts'
import type { Try } from '../records/decision.ts'
import type { DeliveryEnd } from './delivery.ts'
import type { Contact } from '../health/liveness.ts'
import { noteMiss } from './note-miss.ts'
import { noAddress, replicaAt } from '../table/replica-at.ts'
import type { LiveRoute } from '../table/routing-table.ts'
import type { Exchange, ServeDeps } from './exchange.ts'
import type { Awaited } from '../health/stalled-requests.ts'

/** One request at one replica: what is sent where, and what is recorded of the outcome. */
export class Attempt implements Upstream, Forwarder, Awaited {
  host = ''
  port = 0
  cableLines: Upstream['cableLines']
  tls: Upstream['tls']
  path = ''
  headers = NONE
  answerHeaders = NONE
  readonly pool: ServeDeps['pool']
  readonly sentOn: Upstream['sentOn']
  readonly route: LiveRoute
  pieces = 0
  place: number | undefined
  readonly #deps: ServeDeps
  readonly #exchange: Exchange
  readonly #contact: Contact
  readonly #startMs: number
  readonly #onEnd: (end: DeliveryEnd) => void
  #sent: Sent | undefined
  #isOver = false

  constructor(
    deps: ServeDeps,
    exchange: Exchange,
    route: LiveRoute,
    onEnd: (end: DeliveryEnd) => void,
    sentOn?: Upstream['sentOn'],
  ) {
    this.pool = deps.pool
    this.sentOn = sentOn
    this.#deps = deps
    this.#exchange = exchange
    this.route = route
    this.#onEnd = onEnd
    // The fast path sent it as soon as the request arrived.
    this.#startMs = sentOn ? exchange.decision.atMs : deps.clock.nowMs()
    this.#contact = deps.liveness.contact(route)
  }

  start(): void {
    const at = replicaAt(this.route, this.#deps.tls)
    if (!at) return this.onForwarded({ outcome: 'unreachable', error: noAddress(this.route) })
    const { request, response, body, decision, trace } = this.#exchange
    this.host = at.host
    this.port = at.port
    this.cableLines = at.cableLines
    this.tls = at.tls
    this.path = `${at.path}${request.url ?? ''}`
    const id = `x-request-id: ${decision.requestId}\r\n`
    // A response that began uncompressed cannot continue compressed.
    const isBegun = response.headersSent
    this.headers = new Instead(isBegun ? REPLACED_LATER : REPLACED, at.lines + (isBegun ? id + PLAIN : id))
    if (trace) this.headers = traced(this.headers, trace.sent(this.#startMs))
    this.answerHeaders = new Instead(ANSWER_REPLACED, this.#deps.exposeNode ? id + nodeLines(this.route) : id)
    this.#sent = this.#deps.forward(request, response, this, this, body)
    if (!this.#isOver) this.#deps.silence.watch(this)
  }

  isRefusal(answer: AnswerFacts): boolean {
    return isRefusal(answer)
  }

  mayMove(): boolean {
    return this.pieces === 0 && this.#deps.table.routesOf(this.route.modelName).length > 1
  }

  giveUp(why: string): void {
    this.#sent?.giveUp(new Error(why))
  }

  onHeard(): void {
    this.pieces += 1
    const nowMs = this.#deps.clock.nowMs()
    this.#contact.heard(nowMs)
    const { decision } = this.#exchange
    // The first piece is the head, which some engines send before they begin to work.
    if (this.pieces > 1 && decision.firstByteMs === 0) decision.firstByteMs = nowMs
  }

  lastWords(): string {
    const message = `The replica on ${this.route.nodeName} stopped in the middle of this answer.`
    return errorEvent(this.#exchange.style, new AppError('bad_gateway', message))
  }

  asEvent(status: number, text: string): string {
    return errorEvent(this.#exchange.style, engineError(status, text))
  }

  onForwarded(result: Forwarded): void {
    if (this.close()) this.#onEnd(this.#endOf(result))
  }

  /** Ends the attempt without an event. False when it was already over. */
  close(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.#deps.silence.forget(this)
    this.#contact.end()
    return true
  }

  #endOf(result: Forwarded): DeliveryEnd {
    const { liveness, lines, log } = this.#deps
    const { decision, response } = this.#exchange
    const route = this.route
    const ids = { request: decision.requestId, replica: route.replicaId, node: route.nodeName }
    switch (result.outcome) {
      case 'answered':
        this.#note('served', result.status)
        decision.status = result.status
        return 'served'
      case 'client gone':
        this.#note('client gone', response.headersSent ? response.statusCode : null)
        return new AppError('client_gone', 'The client has gone.')
      case 'broken':
        this.#note('broken off', response.statusCode, result.error)
        decision.status = response.statusCode
        liveness.doubt(route)
        lines.tell(`${route.replicaId} ${result.error.message}`, (repeated) => {
          log.warn({ ...ids, error: result.error.message, ...repeated }, 'gateway: an answer broke off midway')
        })
        return 'served'
      case 'refused':
      case 'unreachable':
        noteMiss(this.#deps, decision.tries, { route, result, ms: this.#tookMs() }, { request: decision.requestId })
        return 'next'
    }
  }

  #note(outcome: Try['outcome'], status: number | null, error?: Error): void {
    const try_ = { route: this.route, outcome, status, error: error?.message ?? null, ms: this.#tookMs() }
    this.#exchange.decision.tries.push({ ...try_, mayHaveReached: true })
  }

  #tookMs(): number {
    return this.#deps.clock.nowMs() - this.#startMs
  }
}

type AnswerFacts = Parameters<NonNullable<Upstream['isRefusal']>>[0]

/** Whether the worker refused instead of its engine. A 413 is no refusal, because every replica would give it. */
export function isRefusal({ headers, statusCode }: AnswerFacts): boolean {
  return headers[REFUSAL_HEADER] !== undefined && statusCode !== 413
}

const NONE = instead({})
/** Client headers that are not forwarded, and the one that the gateway writes itself. */
export const REPLACED: HeaderNames = notForEngines(['x-request-id'])
const REPLACED_LATER: HeaderNames = notForEngines(['x-request-id', 'accept-encoding'])
const PLAIN = 'accept-encoding: identity\r\n'
/** Headers of an engine's answer that do not reach the client, and the id that the gateway writes itself. */
export const ANSWER_REPLACED: HeaderNames = notForClients(['x-request-id'])

/** With the gateway's span as the parent instead of the client's. */
function traced({ names, lines }: Instead, line: string): Instead {
  return new Instead({ has: (name) => name === 'traceparent' || names.has(name) }, lines + line)
}

export function nodeLines({ nodeName, replicaId }: LiveRoute): string {
  return `x-flotilla-node: ${encodeURI(nodeName)}\r\nx-flotilla-replica: ${replicaId}\r\n`
}

function engineError(status: number, text: string): AppError {
  const said = text.trim() === '' ? 'and nothing more' : text.trim()
  const code = status >= 400 && status < 500 ? 'bad_request' : 'bad_gateway'
  const message = `The engine answered with status ${status} instead of a stream of events: ${said}`
  return new AppError(code, message, { details: { status } })
}
