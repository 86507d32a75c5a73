import { randomUUID } from 'node:crypto'
import type { RoutingDeltaMessage, RoutingSnapshotMessage } from '../api/bus/messages.ts'
import type { Bus } from '../bus/bus.ts'
import type { Clock } from '../platform/run/clock.ts'
import { AppError, messageOf } from '../platform/errors.ts'
import { KeptCluster } from '../platform/kept-cluster.ts'
import type { Logger } from '../platform/run/log.ts'
import { Metrics } from '../platform/metrics/metrics.ts'
import type { Tracer } from '../platform/tracing/tracer.ts'
import { DataCertificate } from './access/data-certificate.ts'
import { ForeignFeed } from './table/foreign-feed.ts'
import { gatewayMetrics } from './records/gateway-metrics.ts'
import { startLoop } from '../platform/run/loop.ts'
import { fetchTable } from './table/fetch-table.ts'
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
  /** Who this gateway is, in decisions and to other gateways. */
  gatewayId: string
  /** Whether answers say which node and replica they come from. */
  exposeNode: boolean
  savedTable?: SavedTable
  /** The cluster it belongs to, as far as is known; tables of any other are not taken. */
  cluster?: KeptCluster
  /** For who looks into it, or reaches replicas in a way of its own. */
  table?: CountedTable
  network?: Network
  /** Where it counts, when that is not a place of its own. */
  metrics?: Metrics | undefined
  /** Missing where nothing is traced. */
  tracer?: Tracer | undefined
  /** Where it keeps what it shows at data ports; without it, it asks at each start. */
  certificateFile?: string
  /** Where they are not given, sane ones hold. */
  limits?: {
    read?: Partial<ReadLimits>
    waitingRoom?: Partial<WaitingRoomLimits>
    modelLoadWaitMs?: number
    answerWaitMs?: number
    /** How often it looks whether its table is up to date. */
    checkMs?: number
    /** After so much silence it is taken for old. */
    staleAfterMs?: number
  }
}

export interface Gateway {
  handler: ReturnType<typeof inferenceApi>
  /** The keys that came with the table. */
  keys: Pick<LiveTable, 'hasSnapshot' | 'keyByHash'>
  /** What it counts. */
  metrics: Metrics
  /** Calls once there is a routing table, or the last run's, or now if there is one. */
  onTable(callback: () => void): void
  /** How many replicas of a model can serve now. */
  readyReplicas(modelName: string): number
  /** Why this gateway is not ready, if it is not. */
  problem(): string | undefined
  /** What is not as it should be although it serves. */
  note(): string | undefined
  dispose(): Promise<void>
}

/** Deltas come every few seconds even when nothing changes: this much silence means that the table may be old. */
const STALE_AFTER_MS = 15_000
const CHECK_PERIOD_MS = 1000
/** How often to ask control for a certificate, while there is none or it ends soon. */
const CERTIFY_EVERY_MS = 5000
/** So long control has to answer at the start, before the table of the last run is taken. */
const SAVED_AFTER_MS = 2000

/**
 * Keeps a routing table up to date over the bus and serves from it: a snapshot, then deltas, and another snapshot when one
 * was missed. With bus or control away it serves from the last table, which was true a moment ago and mostly still is.
 */
export function startGateway(options: GatewayOptions): Gateway {
  const { bus, clock, log, gatewayId, exposeNode, savedTable, network, limits = {} } = options
  const table = options.table ?? new CountedTable()
  const foreign = new ForeignFeed(options.cluster ?? new KeptCluster(), clock, log)
  const waitingRoom = new WaitingRoom(clock, limits.waitingRoom)
  const { read = {}, modelLoadWaitMs, answerWaitMs, checkMs = CHECK_PERIOD_MS, staleAfterMs = STALE_AFTER_MS } = limits
  const ids = { gatewayId, exposeNode }
  const certificate = new DataCertificate({ bus, clock, file: options.certificateFile })
  const tls = certificate.client
  const handler = inferenceApi({
    table,
    bus,
    clock,
    log,
    ...ids,
    waitingRoom,
    modelLoadWaitMs,
    answerWaitMs,
    limits: read,
    network,
    tls,
    tracer: options.tracer,
  })
  const runId = `${gatewayId}/${randomUUID()}`
  const traffic = new GatewayTraffic({ bus, clock, runId, isModel: (name) => table.model(name) !== undefined })
  const load = new LoadSharing({
    bus,
    clock,
    runId,
    table,
    waiting: () => waitingRoom.waiting(),
    unreachable: () => handler.unreachable.list(),
  })
  table.onCount = () => load.changed()
  handler.onUnreachable(() => load.changed())
  let isWanted = true
  let heardMs: number | undefined
  /** When the table was saved that we serve from; undefined once control has spoken. */
  let savedAtMs: number | undefined

  const toSave = (): RoutingSnapshotMessage | undefined => {
    const snapshot = table.snapshot()
    return snapshot && { ...snapshot, cluster_id: foreign.clusterId }
  }
  const hear = (isChanged: boolean): void => {
    heardMs = clock.nowMs()
    savedAtMs = undefined
    if (isChanged) savedTable?.changed(toSave)
  }
  const silentMs = (): number | undefined => (heardMs === undefined ? undefined : clock.nowMs() - heardMs)
  const isStale = (): boolean => savedAtMs !== undefined || (silentMs() ?? 0) > staleAfterMs
  const { metrics = new Metrics() } = options
  const waitingFor = (modelName: string): number => waitingRoom.countsOf(modelName).waiting
  const counts = gatewayMetrics(metrics, { table, silentMs, isStale, waitingFor })
  handler.onEnded((decision) => {
    counts.ended(decision)
    traffic.ended(decision)
  })
  handler.onEjected((route) => counts.ejected(route))

  const loop = startLoop({
    periodMs: checkMs,
    clock,
    async turn() {
      if (!bus.isConnected()) return
      if (certificate.isDue) await certify()
      if (!isWanted && !isStale()) return
      isWanted = false
      try {
        const fetched = await fetchTable(bus)
        if (foreign.isForeign(fetched)) throw new AppError('other_cluster', 'The routing table is of another cluster.')
        table.replace(fetched)
        hear(true)
      } catch (error) {
        isWanted = true
        throw error
      }
    },
    onError: (error) => log.debug({ error: messageOf(error) }, 'gateway: no routing snapshot yet'),
  })
  let certifyAtMs = 0
  const certify = async (): Promise<void> => {
    if (clock.nowMs() < certifyAtMs) return
    certifyAtMs = clock.nowMs() + CERTIFY_EVERY_MS
    try {
      await certificate.renew()
    } catch (error) {
      // A leader of the release before has none to give, and no nodes that would ask for one.
      log.debug({ error: messageOf(error) }, 'gateway: no certificate for data ports yet')
    }
  }
  const refresh = (): void => {
    isWanted = true
    loop.wake()
  }
  bus.subscribe('routingDelta', (delta: RoutingDeltaMessage) => {
    if (foreign.isForeign(delta)) return
    if (table.apply(delta, clock.nowMs())) hear(delta.version !== delta.from_version)
    else refresh()
  })
  bus.onReconnect(() => {
    certificate.expire()
    certifyAtMs = 0
    refresh()
  })
  bus.respond('why', async ({ request_id: id }) => {
    const decision = handler.decisions.find(id)
    return decision && { decision }
  })
  const cancelSaved = clock.after(savedTable ? SAVED_AFTER_MS : 0, () => {
    if (table.hasSnapshot()) return
    const found = savedTable?.load()
    if (!found || foreign.isForeign(found.table)) return
    table.replace(found.table)
    savedAtMs = found.savedAtMs
    log.warn({ saved_at: timeOf(savedAtMs) }, 'gateway: control does not answer; serving from the saved routing table')
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
    note() {
      const other = foreign.note()
      if (other !== undefined) return other
      if (savedAtMs !== undefined)
        return `control has not answered yet; serving from the table saved at ${timeOf(savedAtMs)}`
      const seconds = Math.round((silentMs() ?? 0) / 1000)
      return isStale() ? `nothing heard from control for ${seconds} s; serving from the last table` : undefined
    },
    async dispose() {
      cancelSaved()
      await loop.dispose()
      load.dispose()
      traffic.dispose()
      handler.dispose()
      await savedTable?.dispose()
    },
  }
}

/** A table that tells when a request begins or ends, so that the other gateways can be told. */
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

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}
