import type { Clock } from '../../platform/run/clock.ts'
import type { ConnectionPool } from '../../http/upstream/connection-pool.ts'
import type { ClientTls } from '../../platform/tls/client-tls.ts'
import type { HttpRequest, HttpResponse } from '../../http/exchange.ts'
import type { Logger } from '../../platform/run/log.ts'
import type { RepeatedLines } from '../../platform/run/repeated-lines.ts'
import type { Forward } from '../../http/proxy.ts'
import type { ApiStyle } from '../access/api-errors.ts'
import type { Decision } from '../records/decision.ts'
import type { Parcel } from './parcel.ts'
import type { Liveness } from '../health/liveness.ts'
import type { RequestTrace } from '../records/request-trace.ts'
import type { LiveTable } from '../table/routing-table.ts'
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
  /** Limits log lines about failures that a client can cause at will. */
  lines: RepeatedLines
  /** Whether answers name the node and replica that gave them. */
  exposeNode: boolean
}

/** A request that has been read and admitted. */
export interface Exchange extends Parcel {
  readonly request: HttpRequest
  readonly response: HttpResponse
  readonly body: Buffer
  readonly style: ApiStyle
  readonly decision: Decision
  /** Set for requests that are traced. */
  readonly trace: RequestTrace | undefined
}
