import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { REFUSAL_HEADER } from '../../api/data-port.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { Logger } from '../../platform/run/log.ts'
import { Instead } from '../../http/upstream/forward-headers.ts'
import { notForClients, notForSocketEngines } from '../../http/upstream/passed-headers.ts'
import type { Forwarded } from '../../http/proxy.ts'
import type { ClientTls } from '../../platform/tls/client-tls.ts'
import { forwardUpgrade } from '../../http/upstream/upgrade-proxy.ts'
import type { DeliveryEnd } from './delivery.ts'
import type { Parcel } from './parcel.ts'
import type { Contact, Liveness } from '../health/liveness.ts'
import { noteMiss } from './note-miss.ts'
import { noAddress, replicaAt } from '../table/replica-at.ts'
import type { LiveRoute, LiveTable } from '../table/routing-table.ts'
import type { Awaited, Silence } from '../health/stalled-requests.ts'

export interface SocketDeps {
  table: LiveTable
  liveness: Liveness
  silence: Silence
  clock: Clock
  log: Logger
  /** Connects to data ports that are encrypted. */
  tls: ClientTls
}

/** A client's WebSocket upgrade. */
export interface Upgrade extends Parcel {
  readonly request: IncomingMessage
  readonly socket: Socket
  /** The bytes after its head. */
  readonly head: Buffer
}

/** One WebSocket at one replica, from the handshake to its end. `Silence` watches it until the handshake is answered. */
export class SocketAttempt implements Awaited {
  readonly route: LiveRoute
  pieces = 0
  place: number | undefined
  readonly #deps: SocketDeps
  readonly #upgrade: Upgrade
  readonly #contact: Contact
  readonly #givenUp = new AbortController()

  constructor(deps: SocketDeps, upgrade: Upgrade, route: LiveRoute) {
    this.#deps = deps
    this.#upgrade = upgrade
    this.route = route
    this.#contact = deps.liveness.contact(route)
  }

  /** Resolves when the WebSocket is closed, or this replica has not accepted it. */
  async run(): Promise<Exclude<DeliveryEnd, Error>> {
    const { silence, clock } = this.#deps
    const startMs = clock.nowMs()
    silence.watch(this)
    try {
      const result = await this.#forward()
      if (result.outcome !== 'refused' && result.outcome !== 'unreachable') return 'served'
      const { tries } = this.#upgrade.decision
      noteMiss(this.#deps, tries, { route: this.route, result, ms: clock.nowMs() - startMs })
      return 'next'
    } finally {
      silence.forget(this)
      this.#contact.end()
    }
  }

  mayMove(): boolean {
    return this.pieces === 0 && this.#deps.table.routesOf(this.route.modelName).length > 1
  }

  giveUp(why: string): void {
    this.#givenUp.abort(new Error(why))
  }

  #forward(): Promise<Forwarded> {
    const at = replicaAt(this.route, this.#deps.tls)
    if (!at) return Promise.resolve({ outcome: 'unreachable', error: noAddress(this.route) })
    const { request, socket, head } = this.#upgrade
    const upstream = {
      host: at.host,
      port: at.port,
      tls: at.tls,
      path: `${at.path}${request.url ?? ''}`,
      headers: new Instead(HEADERS, at.lines + protocolLine(request)),
      answerHeaders: ANSWER_HEADERS,
      isRefusal: (answer: { headers: Readonly<Record<string, unknown>> }) =>
        answer.headers[REFUSAL_HEADER] !== undefined,
      onHeard: () => this.#onAnswered(),
    }
    return forwardUpgrade(request, socket, head, upstream, this.#givenUp.signal)
  }

  /** From now on both sides may be silent for as long as they like. */
  #onAnswered(): void {
    this.pieces += 1
    this.#deps.silence.forget(this)
    this.#contact.heard(this.#deps.clock.nowMs())
  }
}

/** OpenAI's browser clients send their key as a protocol, because browsers cannot set headers. It is not forwarded. */
function protocolLine({ headers }: IncomingMessage): string {
  const offered = headers[PROTOCOL]?.split(',').map((name) => name.trim()) ?? []
  const passed = offered.filter((name) => !name.toLowerCase().startsWith(KEY_AS_PROTOCOL))
  return passed.length === 0 ? '' : `${PROTOCOL}: ${passed.join(', ')}\r\n`
}

const PROTOCOL = 'sec-websocket-protocol'
const KEY_AS_PROTOCOL = 'openai-insecure-api-key.'
const HEADERS = notForSocketEngines([PROTOCOL])
const ANSWER_HEADERS = new Instead(notForClients(), '')
