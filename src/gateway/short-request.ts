import type { AnswerHead } from '../platform/answer-parser.ts'
import { Instead } from '../platform/pass-on.ts'
import { shortHead } from '../platform/passed-head.ts'
import { ShortPassage } from '../platform/short-passage.ts'
import type { UpstreamConnection } from '../platform/upstream-connection.ts'
import type { ShortLane } from '../platform/wire/shortcut.ts'
import type { WireResponse } from '../platform/wire/wire-response.ts'
import { ANSWER_REPLACED, isRefusal, nodeLines } from './attempt.ts'
import { noteCandidates } from './candidates.ts'
import type { Decision, Try } from './decisions.ts'
import type { Caller } from './guard.ts'
import { CLIENT_GONE, inferOn } from './infer.ts'
import type { Contact } from './liveness.ts'
import type { ReplicaAt } from './replica-at.ts'
import type { LiveRoute } from './routing-table.ts'
import type { Known, ShortcutDeps } from './shortcut.ts'
import type { Awaited } from './silence.ts'

/** What is asked and by whom, and where it goes. */
interface Short {
  known: Known
  caller: Caller
  sessionKey: string | undefined
  /** All that the client has sent. */
  text: string
  bodyAt: number
  decision: Decision
  route: LiveRoute
  at: ReplicaAt
  /** Gives its place in the waiting room back. */
  leave: () => void
}

/** A request for a model that goes to its first replica and is served there, or becomes one that `infer` looks after. */
export class ShortRequest extends ShortPassage implements Awaited {
  readonly route: LiveRoute
  readonly pieces = 0
  place: number | undefined
  readonly #deps: ShortcutDeps
  readonly #short: Short
  /** Both are there once it is sent. */
  #release: (() => void) | undefined
  #contact: Contact | undefined
  #heardMs = 0

  constructor(deps: ShortcutDeps, short: Short, lane: ShortLane, connection: UpstreamConnection) {
    super(lane, short.text, connection)
    this.route = short.route
    this.#deps = deps
    this.#short = short
  }

  override start(): void {
    super.start()
    // The replica has it by now, and works on it meanwhile. What comes back is heard later at the earliest.
    const { route, decision } = this.#short
    const { table, liveness, silence } = this.#deps.serveDeps
    noteCandidates(decision, route, table, liveness)
    this.#release = table.begin(route, decision.atMs)
    this.#contact = liveness.contact(route)
    silence.watch(this)
    if (decision.isStream) this.lengthen()
  }

  mayMove(): boolean {
    return this.#deps.table.routesOf(this.route.modelName).length > 1
  }

  protected override question(): string {
    const { known, text, bodyAt, decision, at } = this.#short
    const ours = `${at.lines}x-request-id: ${decision.requestId}\r\ncontent-length: ${text.length - bodyAt}\r\n`
    const head = `POST ${at.path}${known.url} HTTP/1.1\r\n${known.lines}${ours}connection: keep-alive\r\n\r\n`
    return head + text.slice(bodyAt)
  }

  protected override answer(head: AnswerHead, bytes: Buffer, bodyAt: number, keepS: number): string | undefined {
    if (isRefusal(head)) return undefined
    const { decision } = this.#short
    const nowMs = this.#deps.clock.nowMs()
    this.#heardMs = nowMs
    this.#contact?.heard(nowMs)
    const length = bytes.length - bodyAt
    if (length > 0) decision.firstByteMs = nowMs
    decision.status = head.statusCode
    const node = this.#deps.serveDeps.exposeNode ? nodeLines(this.route) : ''
    return shortHead(head, length, keepS, WITHOUT_OURS, `x-request-id: ${decision.requestId}\r\n${node}`, nowMs)
  }

  override onSent(isLater: boolean): void {
    this.#end('served', this.#short.decision.status, isLater ? this.#deps.clock.nowMs() : this.#heardMs)
  }

  protected override onLost(): void {
    const { decision } = this.#short
    const { status } = decision
    decision.status = CLIENT_GONE
    this.#end('client gone', status, this.#deps.clock.nowMs())
  }

  protected override goOn(response: WireResponse, connection: UpstreamConnection, bytes: Buffer): void {
    this.#forget()
    const { known, caller, bodyAt, sessionKey, decision, route, leave } = this.#short
    const { requestId, model, isStream } = decision
    const asked = { request: response.req, response, caller, path: known.path, requestId, onEnded: this.#deps.onEnded }
    const read = { body: bytes.subarray(bodyAt), model: model!, isStream, sessionKey }
    inferOn(this.#deps, asked, { decision, read, leave, route, release: this.#release!, connection })
  }

  #end(outcome: Try['outcome'], status: number, nowMs: number): void {
    const { decisions, onEnded } = this.#deps
    const { route, decision, leave } = this.#short
    this.#forget()
    this.#release?.()
    leave()
    const ms = nowMs - decision.atMs
    // The only one: a list that is made with one has no room for more.
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

const WITHOUT_OURS = new Instead(ANSWER_REPLACED, '')
