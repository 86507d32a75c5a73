import type { AnswerHead } from '../../http/upstream/answer-parser.ts'
import { passedHead, type OurWords } from '../../http/fast/path/answer-head.ts'
import { ShortPassage } from '../../http/fast/path/fast-exchange.ts'
import type { UpstreamConnection } from '../../http/upstream/upstream-connection.ts'
import type { ShortLane } from '../../http/fast/path/fast-path.ts'
import type { WireResponse } from '../../http/fast/fast-response.ts'
import type { JoinedHead } from '../../http/fast/path/head-parts.ts'
import { ANSWER_REPLACED, isRefusal, nodeLines } from '../deliver/attempt.ts'
import { noteCandidates } from '../deliver/candidates.ts'
import type { Decision, Try } from '../records/decision.ts'
import type { Caller } from '../access/guard.ts'
import { CLIENT_GONE, inferOn, newDecision } from './infer.ts'
import type { Contact } from '../health/liveness.ts'
import type { ReplicaAt } from '../table/replica-at.ts'
import { prepareRequestId } from './request-id.ts'
import type { LiveRoute, ServedModel } from '../table/routing-table.ts'
import type { Known, ShortcutDeps } from './known-head.ts'
import type { Awaited } from '../health/stalled-requests.ts'

/** A fast-path request: what it asks, its caller, and its replica. */
interface Short {
  known: Known
  caller: Caller
  sessionKey: string | undefined
  served: ServedModel
  isStream: boolean
  requestId: string
  atMs: number
  route: LiveRoute
  at: ReplicaAt
  /** Gives back its place in the waiting room. */
  leave: () => void
}

/** A request on the fast path: the first replica serves it, or `infer` takes it over. */
export class ShortRequest extends ShortPassage implements Awaited {
  readonly route: LiveRoute
  readonly pieces = 0
  place: number | undefined
  readonly #deps: ShortcutDeps
  readonly #short: Short
  /** Set once the request is sent. */
  #decision!: Decision
  #release: (() => void) | undefined
  #contact: Contact | undefined
  #heardMs = 0

  constructor(deps: ShortcutDeps, short: Short, lane: ShortLane, bodyAt: number, connection: UpstreamConnection) {
    super(lane, bodyAt, connection)
    this.route = short.route
    this.#deps = deps
    this.#short = short
  }

  override start(bytes: Buffer): void {
    super.start(bytes)
    // The answer can arrive only after this turn, so there is time to record the request.
    const { route, known, caller, served, isStream, requestId, atMs } = this.#short
    const { table, liveness, silence } = this.#deps.serveDeps
    const decision = newDecision(requestId, known.path, caller, atMs, this.#deps.decisions.isSampled(atMs))
    decision.model = served.name
    decision.policy = served.routePolicy
    decision.isStream = isStream
    this.#decision = decision
    noteCandidates(decision, route, table, liveness)
    this.#release = table.begin(route, atMs)
    this.#contact = liveness.contact(route)
    silence.watch(this)
    prepareRequestId()
  }

  mayMove(): boolean {
    return this.#deps.table.routesOf(this.route.modelName).length > 1
  }

  protected override question(length: number): JoinedHead {
    const { known, requestId: id, at } = this.#short
    return { start: startFor(known, at), id, middle: LENGTH_LINE, length, end: LAST_LINE }
  }

  protected override answer(head: AnswerHead, bytes: Buffer, bodyAt: number, keepS: number): JoinedHead | undefined {
    if (isRefusal(head)) return undefined
    const decision = this.#decision
    const nowMs = this.#deps.clock.nowMs()
    this.#heardMs = nowMs
    this.#contact?.heard(nowMs)
    const length = bytes.length - bodyAt
    if (length > 0) decision.firstByteMs = nowMs
    decision.status = head.statusCode
    return passedHead(head, this.#ourWords(nowMs), length, keepS)
  }

  protected override streamHead(head: AnswerHead, keepS: number): JoinedHead | undefined {
    return isRefusal(head) ? undefined : passedHead(head, this.#ourWords(this.#deps.clock.nowMs()), -1, keepS)
  }

  #ourWords(nowMs: number): OurWords {
    const lines = this.#deps.serveDeps.exposeNode ? nodeLines(this.route) : ''
    return { names: ANSWER_REPLACED, id: this.#short.requestId, lines, nowMs }
  }

  override onSent(isLater: boolean): void {
    this.#end('served', this.#decision.status, isLater ? this.#deps.clock.nowMs() : this.#heardMs)
  }

  protected override onLost(): void {
    const decision = this.#decision
    const { status } = decision
    decision.status = CLIENT_GONE
    this.#end('client gone', status, this.#deps.clock.nowMs())
  }

  protected override goOn(response: WireResponse, connection: UpstreamConnection, bytes: Buffer): void {
    this.#forget()
    const { known, caller, sessionKey, served, isStream, requestId, route, leave } = this.#short
    const decision = this.#decision
    const asked = { request: response.req, response, caller, path: known.path, requestId, onEnded: this.#deps.onEnded }
    const read = { body: bytes.subarray(this.bodyAt), model: served.name, isStream, sessionKey }
    inferOn(this.#deps, asked, { decision, read, leave, route, release: this.#release!, connection })
  }

  #end(outcome: Try['outcome'], status: number, nowMs: number): void {
    const { decisions, onEnded } = this.#deps
    const { route, leave } = this.#short
    const decision = this.#decision
    this.#forget()
    this.#release?.()
    leave()
    const ms = nowMs - decision.atMs
    // The only try, so a literal of one, which reserves no room for more.
    decision.tries = [{ route, outcome, status, error: null, ms, mayHaveReached: true }]
    decision.endedMs = nowMs
    decisions.keep(decision)
    onEnded(decision)
  }

  #forget(): void {
    this.#deps.serveDeps.silence.forget(this)
    this.#contact?.end()
  }
}

const LENGTH_LINE = Buffer.from('\r\ncontent-length: ', 'latin1')
const LAST_LINE = Buffer.from('\r\nconnection: keep-alive\r\n\r\n', 'latin1')

/** The beginning of all requests with this head to this replica, up to the request id. */
function startFor({ url, lines, starts }: Known, at: ReplicaAt): Buffer {
  const known = starts.get(at)
  if (known) return known
  const start = Buffer.from(`POST ${at.path}${url} HTTP/1.1\r\n${lines}${at.lines}x-request-id: `, 'latin1')
  starts.set(at, start)
  return start
}
