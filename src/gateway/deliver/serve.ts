import type { Clock } from '../../platform/run/clock.ts'
import type { ConnectionPool } from '../../http/upstream/connection-pool.ts'
import type { ClientTls } from '../../platform/tls/client-tls.ts'
import type { HttpRequest, HttpResponse } from '../../http/exchange.ts'
import type { Logger } from '../../platform/run/log.ts'
import type { RepeatedLines } from '../../platform/run/repeated-lines.ts'
import type { Forward } from '../../http/proxy.ts'
import type { UpstreamConnection } from '../../http/upstream/upstream-connection.ts'
import type { ApiStyle } from '../access/api-errors.ts'
import { Attempt } from './attempt.ts'
import type { Decision } from '../records/decisions.ts'
import { Delivery, type Begun, type DeliveryEnd, type Parcel } from './delivery.ts'
import type { Liveness } from '../health/liveness.ts'
import type { RequestTrace } from '../request/request-trace.ts'
import type { LiveRoute, LiveTable } from '../table/routing-table.ts'
import type { Done } from './serve-when-ready.ts'
import type { Silence } from '../health/stalled-requests.ts'

export interface ServeDeps {
  table: LiveTable
  liveness: Liveness
  silence: Silence
  pool: ConnectionPool
  forward: Forward
  /** Connects to data ports that are encrypted. */
  tls: ClientTls
  clock: Clock
  log: Logger
  /** For failures that a client can cause as often as it likes. */
  lines: RepeatedLines
  /** Whether answers tell which node and replica gave them. */
  exposeNode: boolean
}

/** A request that has been read and admitted. */
export interface Exchange extends Parcel {
  readonly request: HttpRequest
  readonly response: HttpResponse
  readonly body: Buffer
  readonly style: ApiStyle
  readonly decision: Decision
  /** For the few that are traced. */
  readonly trace: RequestTrace | undefined
}

/**
 * Sends a request to the best replica; to the next best when that one cannot be reached or refuses, for as long as nothing
 * has reached the client. Never to two at once: an engine that works for nothing is worse than a wait. What it is sent to
 * counts from the pick on, until here is the end of it.
 *
 * These are the requests that did not take the shortcut, or left it (`begun`): their bytes pass through attempt.ts and
 * platform/proxy.ts. Those of the shortcut pass through short-request.ts and platform/short-passage.ts. Nothing waits here
 * unless a replica must be asked first whether it lives.
 */
export function serve(deps: ServeDeps, exchange: Exchange, done: Done, begun?: Begun): void {
  const delivery = new RequestDelivery(deps, exchange, done)
  if (begun) delivery.goOn(begun)
  else delivery.next()
}

class RequestDelivery extends Delivery {
  readonly #deps: ServeDeps
  readonly #exchange: Exchange

  constructor(deps: ServeDeps, exchange: Exchange, done: Done) {
    super(deps, exchange, done)
    this.#deps = deps
    this.#exchange = exchange
  }

  protected override send(route: LiveRoute, sentOn?: UpstreamConnection): void {
    const attempt = new Attempt(this.#deps, this.#exchange, route, this.#onEnd, sentOn)
    try {
      attempt.start()
    } catch (error) {
      if (!attempt.close()) throw error
      this.fail(error)
    }
  }

  readonly #onEnd = (end: DeliveryEnd): void => this.end(end)
}
