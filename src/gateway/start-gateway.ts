import { randomUUID } from 'node:crypto'
import type { Bus } from '../bus/bus.ts'
import type { Clock } from '../platform/run/clock.ts'
import { messageOf } from '../platform/errors.ts'
import { KeptCluster } from '../platform/kept-cluster.ts'
import type { Logger } from '../platform/run/log.ts'
import { Metrics } from '../platform/metrics/metrics.ts'
import type { Tracer } from '../platform/tracing/tracer.ts'
import { CertificateRenewal } from './access/certificate-renewal.ts'
import { DataCertificate } from './access/data-certificate.ts'
import { ForeignFeed } from './table/foreign-feed.ts'
import { gatewayMetrics } from './records/gateway-metrics.ts'
import { startLoop } from '../platform/run/loop.ts'
import { TableFeed } from './table/table-feed.ts'
import { inferenceApi, type Network } from './request/inference.ts'
import { LoadSharing } from './table/load-sharing.ts'
import type { ReadLimits } from './access/body-room.ts'
import { LiveTable, type LiveRoute } from './table/routing-table.ts'
import type { SavedTable } from './table/saved-table.ts'
import { GatewayTraffic } from './records/traffic.ts'
import { WaitingRoom, type WaitingRoomLimits } from './deliver/waiting-room.ts'

export interface GatewayOptions {
  bus: Bus
  clock: Clock
  log: Logger
  /** The name of this gateway, in decisions and to other gateways. */
  gatewayId: string
  /** Whether answers name the node and replica that gave them. */
  exposeNode: boolean
  savedTable?: SavedTable
  /** The cluster that the gateway belongs to, if known; tables of other clusters are rejected. */
  cluster?: KeptCluster
  /** Given by callers that read the table, or that reach replicas in their own way, such as the simulator. */
  table?: CountedTable
  network?: Network
  /** Where the gateway counts; by default in metrics of its own. */
  metrics?: Metrics | undefined
  /** Missing where tracing is off. */
  tracer?: Tracer | undefined
  /** Keeps the certificate for data ports; without it, the gateway asks control for one at each start. */
  certificateFile?: string
  /** Each has a default. */
  limits?: {
    read?: Partial<ReadLimits>
    waitingRoom?: Partial<WaitingRoomLimits>
    modelLoadWaitMs?: number
    answerWaitMs?: number
    /** How often the gateway checks whether its table is up to date. */
    checkMs?: number
    /** After this much silence of control the table counts as stale. */
    staleAfterMs?: number
  }
}

export interface Gateway {
  handler: ReturnType<typeof inferenceApi>
  /** The keys of the routing table. */
  keys: Pick<LiveTable, 'hasSnapshot' | 'keyByHash'>
  /** The gateway's metrics. */
  metrics: Metrics
  /** Calls back once there is a routing table, be it a saved one; at once if there is one already. */
  onTable(callback: () => void): void
  /** How many replicas of a model can serve now. */
  readyReplicas(modelName: string): number
  /** Why this gateway is not ready, if it is not. */
  problem(): string | undefined
  /** A problem that does not keep the gateway from serving, if there is one. */
  note(): string | undefined
  dispose(): Promise<void>
}

const CHECK_PERIOD_MS = 1000

/**
 * Keeps a routing table up to date over the bus and serves from it. While the bus or control is away it serves from the
 * last table, which is mostly still right.
 */
export function startGateway(options: GatewayOptions): Gateway {
  const { bus, clock, log, gatewayId, savedTable, limits = {}, metrics = new Metrics() } = options
  const table = options.table ?? new CountedTable()
  const foreign = new ForeignFeed(options.cluster ?? new KeptCluster(), clock, log)
  const waitingRoom = new WaitingRoom(clock, limits.waitingRoom)
  const certificate = new DataCertificate({ bus, clock, file: options.certificateFile })
  const handler = inferenceApi({
    ...options,
    ...limits,
    limits: limits.read ?? {},
    table,
    waitingRoom,
    tls: certificate.client,
  })
  const { traffic, load } = shareLoad({ bus, clock, gatewayId, table, waitingRoom, handler })
  const onWanted = (): void => loop.wake()
  const feed = new TableFeed({
    bus,
    clock,
    log,
    table,
    foreign,
    savedTable,
    staleAfterMs: limits.staleAfterMs,
    onWanted,
  })
  count({ metrics, table, feed, waitingRoom, handler, traffic })
  const renewal = new CertificateRenewal(certificate, clock, log)
  const loop = startLoop({
    periodMs: limits.checkMs ?? CHECK_PERIOD_MS,
    clock,
    async turn() {
      if (!bus.isConnected()) return
      await renewal.look()
      await feed.look()
    },
    onError: (error) => log.debug({ error: messageOf(error) }, 'gateway: no routing snapshot yet'),
  })
  feed.start()
  bus.onReconnect(() => {
    renewal.expire()
    feed.refresh()
  })
  bus.respond('why', async ({ request_id: id }) => {
    const decision = handler.decisions.find(id)
    return decision && { decision }
  })

  return {
    handler,
    keys: table,
    metrics,
    onTable(callback) {
      if (table.hasSnapshot()) return callback()
      const forget = table.onChange(() => {
        forget()
        callback()
      })
    },
    readyReplicas: (modelName) => table.routesOf(modelName).length,
    problem: () => (table.hasSnapshot() ? undefined : 'no routing table yet'),
    note: () => feed.note(),
    async dispose() {
      feed.dispose()
      await loop.dispose()
      load.dispose()
      traffic.dispose()
      handler.dispose()
      await savedTable?.dispose()
    },
  }
}

interface Parts {
  table: CountedTable
  waitingRoom: WaitingRoom
  handler: Gateway['handler']
}

/** Tells the other gateways and control what this one has in flight, what waits, and which nodes it cannot reach. */
function shareLoad({
  bus,
  clock,
  gatewayId,
  table,
  waitingRoom,
  handler,
}: Parts & Pick<GatewayOptions, 'bus' | 'clock' | 'gatewayId'>): { traffic: GatewayTraffic; load: LoadSharing } {
  const runId = `${gatewayId}/${randomUUID()}`
  const traffic = new GatewayTraffic({ bus, clock, runId, isModel: (name) => table.model(name) !== undefined })
  const waiting = (): Record<string, number> => waitingRoom.waiting()
  const load = new LoadSharing({ bus, clock, runId, table, waiting, unreachable: () => handler.unreachable.list() })
  table.onCount = () => load.changed()
  handler.onUnreachable(() => load.changed())
  return { traffic, load }
}

function count({
  metrics,
  table,
  feed,
  waitingRoom,
  handler,
  traffic,
}: Parts & { metrics: Metrics; feed: TableFeed; traffic: GatewayTraffic }): void {
  const counts = gatewayMetrics(metrics, {
    table,
    silentMs: () => feed.silentMs(),
    isStale: () => feed.isStale(),
    waitingFor: (modelName) => waitingRoom.countsOf(modelName).waiting,
  })
  handler.onEnded((decision) => {
    counts.ended(decision)
    traffic.ended(decision)
  })
  handler.onEjected((route) => counts.ejected(route))
}

/** A table that reports when a request begins or ends, so that `LoadSharing` can tell the other gateways. */
export class CountedTable extends LiveTable {
  onCount = (): void => {}

  override begin(route: LiveRoute, nowMs: number): () => void {
    const end = super.begin(route, nowMs)
    this.onCount()
    return () => {
      end()
      this.onCount()
    }
  }
}
