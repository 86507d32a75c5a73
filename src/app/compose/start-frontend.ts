import { hostname } from 'node:os'
import type { Bus } from '../../bus/bus.ts'
import type { Config } from '../../cli/config/options.ts'
import { adminApi } from '../../control/api/admin-api.ts'
import { ensureDefaultToken } from '../../control/api/nouns/tokens.ts'
import { applyDeclaredRules } from '../../control/changes/declared-rules.ts'
import { readDeclaredRules } from '../../control/changes/read-declared-rules.ts'
import { startServedFolder } from '../../control/facts/served-folder/served-folder.ts'
import { startControl } from '../../control/start-control.ts'
import type { Conditions } from '../../control/watch/conditions.ts'
import { livenessLimits } from '../../core/nodes/liveness.ts'
import { openSavedTable } from '../../gateway/table/saved-table.ts'
import { startGateway, type Gateway, type GatewayOptions } from '../../gateway/start-gateway.ts'
import { WrongKeys } from '../../http/server/failure-throttle.ts'
import type { Check } from '../../http/server/health.ts'
import { startHttpServer } from '../../http/server.ts'
import { openReach } from '../../model-files/source/reach.ts'
import { formatAddress, reachableAddress, type Address } from '../../platform/address.ts'
import type { DataFolder } from '../../platform/data-folder.ts'
import { KeptCluster } from '../../platform/kept-cluster.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import { systemClock as clock } from '../../platform/run/clock.ts'
import type { Dispose, Lifetime } from '../../platform/run/lifetime.ts'
import type { Logger } from '../../platform/run/log.ts'
import { hashSecret } from '../../platform/secrets.ts'
import type { ListenerTls } from '../../platform/tls/listener-tls.ts'
import type { Tracer } from '../../platform/tracing/tracer.ts'
import type { OpenFile } from '../../store/driver/open-file.ts'
import type { Database } from '../../store/sql.ts'
import type { MessageBus } from '../bus/message-bus.ts'
import { Front } from '../front/front.ts'
import { frontDoor } from '../front/router.ts'
import { busAdmission, refuseOutOfReach } from './bus-admission.ts'
import { FrontendSecrets } from './frontend-secrets.ts'
import { gatewayLimits, type GatewayLimits } from './gateway-limits.ts'
import { isLocalInferenceOn } from './local-inference.ts'
import { modelsFolderOf, servedFolderOf } from './models-folder-of.ts'
import { openBuses } from './open-buses.ts'
import { openClusterStore } from './open-cluster-store.ts'
import { openListenerTls } from './open-listener-tls.ts'
import { watchCluster } from './watch-cluster.ts'

export interface FrontendOptions {
  config: Config
  folder: DataFolder
  log: Logger
  life: Lifetime
  /** What the process counts. */
  metrics: Metrics
  /** Missing where nothing is traced. */
  tracer?: Tracer | undefined
  /** Nodes that need no approval: the worker inside this very program. */
  isOurs?: (publicKey: string) => boolean
  /** Stopped after control, so that control does not replace what this stops, and before what it stands on. */
  alongside?: { name: string; dispose: Dispose }
  checks?: Record<string, Check>
  /** Before control takes its first turn. */
  prepare?: (db: Database) => Promise<void>
}

export interface Frontend {
  /** Where a client on this machine reaches it, and where it listens. */
  url: string
  address: Address
  /** Its certificate, when it has one. */
  tls: ListenerTls | undefined
  bus: MessageBus
  db: Database
  /** The file of the store, where it is one. */
  file: OpenFile | undefined
  gateway: Gateway
  joinToken: () => string
}

/** Control and gateway behind one listener, on a store and a bus. */
export async function startFrontend(options: FrontendOptions): Promise<Frontend> {
  const { config, folder, log, life, metrics } = options
  const secrets = new FrontendSecrets(folder)
  const servedFolder = servedFolderOf(config)
  const modelsFolder = modelsFolderOf(config, folder)
  const { model_scheduling: inline, model_scheduling_config: file } = config
  // A mistake in it stops the start, so it is read before anything is touched.
  const declaredRules = await readDeclaredRules({ inline, file }, log)
  // The port is taken first: a port in use is the likeliest mistake, and nothing has been touched yet.
  const limits = gatewayLimits(config)
  const { front, server, tls } = await openListener({ config, folder, limits, log, life })
  const { clusterSecret: ownSecret, owner } = secrets
  const store = await openClusterStore({ config, folder, clock, life, metrics, clusterSecret: ownSecret })
  const { db, clusterId, clusterSecret } = store
  const { messageBus, controlBus, gatewayBus } = await openBuses({ config, db, clusterSecret, log, life, metrics })
  await ensureDefaultToken(db, secrets.joinToken)
  await options.prepare?.(db)
  const watch = watchCluster({ config, folder, store, controlBus, clock, log, life })
  const { events, live, known, conditions } = watch
  // Before control's first turn, which sees them. One that leads elsewhere sees them at its next.
  if (declaredRules) await applyDeclaredRules({ db, events, log, onChange: () => {} }, declaredRules)
  const { alongside } = options
  if (alongside) life.own(alongside.name, alongside.dispose)
  const shared = {
    db,
    clock,
    log,
    clusterSecret,
    clusterId,
    events,
    conditions,
    placement: config.placement,
    modelsFolder,
    adminKey: () => secrets.adminKey,
    hub: { endpoint: config.hf_endpoint, token: config.hf_token, reach: openReach(config.allow_sources) },
  }
  const liveness = livenessLimits(config.heartbeat_ms, config.offline_after_ms)
  const address = shownAddress(server.address)
  const control = startControl({ ...shared, bus: controlBus, owner, liveness, known, metrics, address })
  life.own('control', () => control.dispose())
  const onChange = (): void => control.wake()
  const isLeading = (): boolean => control.isLeading()
  const served = startServedFolder({ folder: servedFolder, db, events, log, clock, isLeading, onChange })
  life.own('served folder', () => served.dispose())
  const gateway = startOwnGateway(options, { bus: gatewayBus, gatewayId: owner, clusterId, limits })
  const guard = guardOf(config, gateway, secrets)
  const ending = new AbortController()
  const api = adminApi({
    ...shared,
    ...busAdmission(messageBus, (nodeId) => watch.reach.removed(nodeId)),
    ...adminOfSecrets(secrets, guard),
    ...adminOfConfig(options, limits),
    bus: controlBus,
    live,
    ending: ending.signal,
    foreignStore: () => known.foreign(),
    backup: store.backup,
    onNodeSeen: (node, how) => watch.reach.seen(node, how),
    fingerprint: () => (tls?.isSelfSigned ? tls.fingerprint : null),
    onChange,
  })
  const inference = { handler: gateway.handler, ollama: gateway.handler.ollama, guard, metrics: gateway.metrics }
  const door = frontDoor({
    inference,
    early: front.early,
    admin: refuseOutOfReach(messageBus, api),
    checks: { gateway: () => gateway.problem(), ...options.checks },
    notes: notesOf({ conditions, control, bus: controlBus, gateway }),
  })
  front.serve(door, gateway, inference)
  life.own('running requests', () => server.dispose(config.drain_s * 1000))
  life.own('event streams', () => events.dispose())
  life.own('live streams', () => live.dispose())
  life.own('followed logs', () => ending.abort())
  return {
    url: `${tls ? 'https' : 'http'}://${formatAddress(reachableAddress(server.address))}`,
    address: server.address,
    tls,
    bus: messageBus,
    db,
    file: store.file,
    gateway,
    joinToken: () => secrets.joinToken,
  }
}

interface ListenerOptions extends Pick<FrontendOptions, 'config' | 'folder' | 'log' | 'life'> {
  limits: GatewayLimits
}

async function openListener({ config, folder, limits, log, life }: ListenerOptions) {
  const front = new Front(clock)
  const tls = openListenerTls({ ...config, data: folder.path }, log, life)
  const server = await startHttpServer({
    ...front.handlers(),
    tls: tls && { upgrade: () => tls.upgrade },
    limits: limits.http,
    listen: config.listen,
    purpose: 'the API',
    flag: '--listen',
    log,
  })
  life.own('http', () => server.dispose(0))
  return { front, server, tls }
}

interface OwnGateway extends Pick<GatewayOptions, 'bus' | 'gatewayId'> {
  clusterId: string
  limits: GatewayLimits
}

function startOwnGateway(options: FrontendOptions, { bus, gatewayId, clusterId, limits }: OwnGateway): Gateway {
  const { config, folder, log, life, metrics, tracer } = options
  const gateway = startGateway({
    bus,
    clock,
    log,
    gatewayId,
    exposeNode: config.expose_node_header,
    savedTable: openSavedTable(folder.file('routing-table.json'), clock, log),
    cluster: sameCluster(clusterId),
    certificateFile: folder.file('data-client.json'),
    metrics,
    tracer,
    limits,
  })
  life.own('gateway', () => gateway.dispose())
  return gateway
}

function guardOf(config: Config, { keys }: Gateway, secrets: FrontendSecrets) {
  const localInference = isLocalInferenceOn(config)
  const adminKeyHash = hashSecret(secrets.adminKey)
  return { keys, clock, localInference, adminKeyHash, wrongKeys: new WrongKeys(clock) }
}

type AdminDeps = Parameters<typeof adminApi>[0]

function adminOfConfig(
  { config, isOurs = () => false }: FrontendOptions,
  limits: GatewayLimits,
): Pick<AdminDeps, 'bodies' | 'heartbeatPeriodMs' | 'localInference' | 'autoApprove' | 'approves'> {
  return {
    bodies: limits.read.bodies,
    heartbeatPeriodMs: config.heartbeat_ms,
    localInference: isLocalInferenceOn(config),
    autoApprove: config.auto_approve,
    approves: isOurs,
  }
}

/** What the admin API reads and replaces in the data folder. */
function adminOfSecrets(
  secrets: FrontendSecrets,
  guard: { adminKeyHash: string },
): Pick<AdminDeps, 'replaceAdminKey' | 'defaultToken' | 'replaceDefaultToken'> {
  return {
    replaceAdminKey(key) {
      secrets.replaceAdminKey(key)
      guard.adminKeyHash = hashSecret(key)
    },
    defaultToken: () => secrets.joinToken,
    replaceDefaultToken: (token) => secrets.replaceJoinToken(token),
  }
}

interface Noted {
  conditions: Conditions
  control: ReturnType<typeof startControl>
  bus: Bus
  gateway: Gateway
}

/** Told, and no reason for a load balancer to turn away: what is loaded is served without store and bus, too. */
function notesOf({ conditions, control, bus, gateway }: Noted): Record<string, Check> {
  return {
    conditions: () => conditions.note(),
    control: () => control.problem(),
    bus: () => (bus.isConnected() ? undefined : 'not connected'),
    table: () => gateway.note(),
    frozen: () => control.frozen().join(', ') || undefined,
  }
}

/** As people know the machine: one that listens everywhere is known by its name. */
function shownAddress({ host, port }: Address): string {
  return formatAddress({ host: host === '0.0.0.0' || host === '::' ? hostname() : host, port })
}

/** For the gateway in this process, which need not learn it. */
function sameCluster(id: string): KeptCluster {
  const cluster = new KeptCluster()
  cluster.learn(id)
  return cluster
}
