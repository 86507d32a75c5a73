import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { rmSync } from 'node:fs'
import { connectBus } from '../../bus/bus.ts'
import { measuredBus } from '../../bus/measured-bus.ts'
import { peerOf } from '../bus/bus-address.ts'
import type { Config } from '../../cli/config/options.ts'
import { adminApi } from '../../control/api/admin-api.ts'
import { Conditions } from '../../control/watch/conditions.ts'
import { ensureDefaultToken } from '../../control/api/nouns/tokens.ts'
import { applyDeclaredRules } from '../../control/changes/declared-rules.ts'
import { startEventFeed } from '../../control/changes/event-feed.ts'
import { hearGateways } from '../../control/routing/gateway-reports.ts'
import { KnownStore, readSeen, SEEN_FILE } from '../../control/watch/known-store.ts'
import { startLiveFeed } from '../../control/views/live/live-feed.ts'
import { ReachWatch } from '../../control/watch/reach-watch.ts'
import { readDeclaredRules } from '../../control/changes/read-declared-rules.ts'
import { startServedFolder } from '../../control/facts/served-folder/served-folder.ts'
import { startControl } from '../../control/start-control.ts'
import { livenessLimits } from '../../core/nodes/liveness.ts'
import { frontDoor, INFERENCE_PREFIX, inferenceDoor, refuseEarly } from '../front/router.ts'
import { earlyRoom } from '../front/startup-queue.ts'
import { allowInference } from '../../gateway/access/guard.ts'
import { openSavedTable } from '../../gateway/table/saved-table.ts'
import { startGateway, type Gateway } from '../../gateway/start-gateway.ts'
import { openMessageBus, readNatsTls, type MessageBus } from '../bus/message-bus.ts'
import { gatewayLimits } from './gateway-limits.ts'
import { isLocalInferenceOn } from './local-inference.ts'
import { modelsFolderOf, servedFolderOf } from './models-folder-of.ts'
import { openListenerTls } from './open-listener-tls.ts'
import { openReach } from '../../model-files/source/reach.ts'
import { formatAddress, reachableAddress, type Address } from '../../platform/address.ts'
import { systemClock as clock } from '../../platform/run/clock.ts'
import type { DataFolder } from '../../platform/data-folder.ts'
import type { Check } from '../../http/server/health.ts'
import type { ExchangeHandler } from '../../http/exchange.ts'
import { pathOf, startHttpServer, type Handler, type UpgradeHandler } from '../../http/server.ts'
import { whyUnreachable } from '../../http/client/reach-port.ts'
import { CLUSTER_FILE, KeptCluster } from '../../platform/kept-cluster.ts'
import type { Dispose, Lifetime } from '../../platform/run/lifetime.ts'
import type { Shortcut } from '../../http/fast/path/fast-path.ts'
import type { Logger } from '../../platform/run/log.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import { hashSecret, newSecret, readOrCreateSecret } from '../../platform/secrets.ts'
import type { Tracer } from '../../platform/tracing/tracer.ts'
import type { ListenerTls } from '../../platform/tls/listener-tls.ts'
import { version } from '../../platform/version.ts'
import { writeWhole } from '../../platform/write-whole.ts'
import { WrongKeys } from '../../http/server/failure-throttle.ts'
import { agreeOn, CLUSTER_ID, CLUSTER_SECRET } from '../../store/nouns/cluster-facts.ts'
import { writeLiveBackup } from '../../store/backup/live-backup.ts'
import { openDatabase } from '../../store/database.ts'
import type { Database } from '../../store/sql.ts'
import { measuredDatabase } from '../../store/driver/measured-database.ts'
import { refuseOtherStore } from '../../store/migrate/refuse-other-store.ts'
import { listNodes } from '../../store/nouns/nodes.ts'
import { findMigrations } from '../../store/migrate/migration-files.ts'
import { openFileAt, type OpenFile } from '../../store/driver/open-file.ts'
import { watchProcess } from './watch-process.ts'

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
  const secrets = loadSecrets(folder)
  const servedFolder = servedFolderOf(config)
  const modelsFolder = modelsFolderOf(config, folder)
  const { model_scheduling: inline, model_scheduling_config: file } = config
  // A mistake in it stops the start, so it is read before anything is touched.
  const declaredRules = await readDeclaredRules({ inline, file }, log)

  // The port is taken first: a port in use is the likeliest mistake, and nothing has been touched yet.
  const early = earlyRoom(clock)
  let handler: Handler = frontDoor({ early, checks: { start: () => 'starting' } })
  let infer: ExchangeHandler = early.handler
  let shortcut: Shortcut | undefined
  let onUpgrade: UpgradeHandler = refuseEarly
  const limits = gatewayLimits(config)
  const tls = openListenerTls({ ...config, data: folder.path }, log, life)
  const server = await startHttpServer({
    tls: tls && { upgrade: () => tls.upgrade },
    limits: limits.http,
    listen: config.listen,
    purpose: 'the API',
    flag: '--listen',
    handler: (request, response) => handler(request, response),
    wire: {
      prefix: INFERENCE_PREFIX,
      handler: (request, response) => infer(request, response),
      shortcut: () => shortcut,
    },
    onUpgrade: (request, socket, head) => onUpgrade(request, socket, head),
    log,
  })
  life.own('http', () => server.dispose(0))

  const cluster = new KeptCluster(folder.file(CLUSTER_FILE))
  if (config.new_cluster) {
    cluster.forget()
    rmSync(folder.file(SEEN_FILE), { force: true })
  }
  const secretHash = readSeen(folder.file(SEEN_FILE))?.secret_hash
  const known = cluster.id === undefined ? undefined : { id: cluster.id, secretHash, folder: folder.path }
  const databaseFile = config.database_url ? undefined : folder.file('flotilla.db')
  const target = databaseFile ? { file: databaseFile } : { url: config.database_url! }
  const opened = await openDatabase(target, known && { before: (driver) => refuseOtherStore(driver, known) })
  const openFile = databaseFile && openFileAt(databaseFile)
  const db = measuredDatabase(opened, metrics)
  life.own('store', () => db.close())
  // Any frontend may tell a node its data key, and any may lead and tell it to gateways: they must mean the same.
  const clusterSecret = await agreeOn(db, CLUSTER_SECRET, secrets.clusterSecret)
  const clusterId = await agreeOn(db, CLUSTER_ID, cluster.id ?? randomUUID())
  cluster.learn(clusterId)
  const messageBus = await openMessageBus(
    {
      natsUrl: config.nats_url,
      natsTls: readNatsTls(config),
      tls: { mode: config.bus_tls, clusterSecret },
      accountSeedFile: config.nats_account_seed_file,
      isInsecure: config.insecure,
      listen: config.bus_listen,
      defaultHost: config.listen.host,
      approved: await listApproved(db),
    },
    log,
  )
  life.own('bus', () => messageBus.dispose())
  const controlBus = measuredBus(await connectBus({ ...messageBus.client('control'), log }), metrics, 'control')
  life.own('control bus', () => controlBus.dispose())
  const gatewayBus = measuredBus(await connectBus({ ...messageBus.client('gateway'), log }), metrics, 'gateway')
  life.own('gateway bus', () => gatewayBus.dispose())

  await ensureDefaultToken(db, secrets.joinToken)
  await options.prepare?.(db)
  const conditions = new Conditions(log)
  life.own('process watch', watchProcess({ conditions, clock, db, file: openFile || undefined }))
  const reach = new ReachWatch({ conditions, clock, whyUnreachable })
  const heard = hearGateways(controlBus, clock, reach)
  life.own('reach watch', () => reach.dispose())
  const live = startLiveFeed({ db, clock, log, placement: config.placement, heard, conditions })
  controlBus.subscribe('wake', () => live.wake())
  const events = startEventFeed({ db, clock, log, onWake: () => live.wake() })
  const store = new KnownStore({
    db,
    clusterId,
    file: folder.file(SEEN_FILE),
    secretHash: hashSecret(clusterSecret),
    conditions,
    clock,
    log,
  })
  life.own('known store', () => store.dispose())
  store.onBack(() => events.restart())
  // Before control's first turn, which sees them. One that leads elsewhere sees them at its next.
  if (declaredRules) await applyDeclaredRules({ db, events, log, onChange: () => {} }, declaredRules)
  const { alongside } = options
  if (alongside) life.own(alongside.name, alongside.dispose)
  const { owner } = secrets
  const adminKey = (): string => secrets.adminKey
  const liveness = livenessLimits(config.heartbeat_ms, config.offline_after_ms)
  const hub = { endpoint: config.hf_endpoint, token: config.hf_token, reach: openReach(config.allow_sources) }
  const control = startControl({
    db,
    bus: controlBus,
    clock,
    log,
    owner,
    clusterSecret,
    clusterId,
    adminKey,
    liveness,
    events,
    conditions,
    known: store,
    placement: config.placement,
    modelsFolder,
    hub,
    metrics,
    address: shownAddress(server.address),
  })
  life.own('control', () => control.dispose())
  const onChange = (): void => control.wake()
  const isLeading = (): boolean => control.isLeading()
  const served = startServedFolder({ folder: servedFolder, db, events, log, clock, isLeading, onChange })
  life.own('served folder', () => served.dispose())
  const gateway = startGateway({
    bus: gatewayBus,
    clock,
    log,
    gatewayId: owner,
    exposeNode: config.expose_node_header,
    savedTable: openSavedTable(folder.file('routing-table.json'), clock, log),
    cluster: sameCluster(clusterId),
    certificateFile: folder.file('data-client.json'),
    metrics,
    tracer: options.tracer,
    limits,
  })
  life.own('gateway', () => gateway.dispose())

  const localInference = isLocalInferenceOn(config)
  const guard = {
    keys: gateway.keys,
    clock,
    localInference,
    adminKeyHash: hashSecret(adminKey()),
    wrongKeys: new WrongKeys(clock),
  }
  const ending = new AbortController()
  const api = adminApi({
    db,
    bus: controlBus,
    events,
    live,
    log,
    clock,
    bodies: limits.read.bodies,
    conditions,
    ending: ending.signal,
    adminKey,
    clusterSecret,
    clusterId,
    foreignStore: () => store.foreign(),
    heartbeatPeriodMs: config.heartbeat_ms,
    localInference,
    autoApprove: config.auto_approve,
    approves: options.isOurs ?? (() => false),
    // The bus has the address under which that very node reaches it.
    credentialsFor: (nodeId, publicKey, request) => ({
      bus_url: messageBus.urlFor(peerOf(request)),
      bus_jwt: messageBus.jwtFor({ nodeId, publicKey }),
      ...messageBus.certificate,
    }),
    gatewayCredentialsFor: (given, request) => ({
      bus_url: messageBus.urlFor(peerOf(request)),
      bus_jwt: messageBus.admitGateway(given),
      ...messageBus.certificate,
    }),
    onNodeApproved: (publicKey, nodeId) => messageBus.admit({ publicKey, nodeId }),
    backup: (sink) =>
      writeLiveBackup(opened, target, { migrations: findMigrations(), program: version, nowMs: clock.nowMs() }, sink),
    onNodeSeen: (node, how) => reach.seen(node, how),
    onNodeRemoved(nodeId, publicKey) {
      reach.removed(nodeId)
      return messageBus.expel({ publicKey, nodeId })
    },
    replaceAdminKey(key) {
      writeWhole(folder.file('admin.key'), `${key}\n`)
      secrets.adminKey = key
      guard.adminKeyHash = hashSecret(key)
    },
    defaultToken: () => secrets.joinToken,
    fingerprint: () => (tls?.isSelfSigned ? tls.fingerprint : null),
    replaceDefaultToken(token) {
      writeWhole(folder.file('join.token'), `${token}\n`)
      secrets.joinToken = token
    },
    modelsFolder,
    hub,
    placement: config.placement,
    onChange,
  })
  const checks: Record<string, Check> = { gateway: () => gateway.problem(), ...options.checks }
  // Told, and no reason for a load balancer to turn away: what is loaded is served without store and bus, too.
  const notes = {
    conditions: () => conditions.note(),
    control: () => control.problem(),
    bus: () => (controlBus.isConnected() ? undefined : 'not connected'),
    table: () => gateway.note(),
    frozen: () => control.frozen().join(', ') || undefined,
  }
  const admin = refuseOutOfReach(messageBus, api)
  const inference = { handler: gateway.handler, ollama: gateway.handler.ollama, guard, metrics: gateway.metrics }
  handler = frontDoor({ inference, early, admin, checks, notes })
  gateway.onTable(() => {
    early.open((infer = inferenceDoor(inference)))
    shortcut = gateway.handler.shortcut(guard)
  })
  onUpgrade = gateway.handler.upgrades((request) => allowInference(request, guard))
  life.own('running requests', () => server.dispose(config.drain_s * 1000))
  life.own('event streams', () => events.dispose())
  life.own('live streams', () => live.dispose())
  life.own('followed logs', () => ending.abort())
  const { address } = server
  const url = `${tls ? 'https' : 'http'}://${formatAddress(reachableAddress(address))}`
  return {
    url,
    address,
    tls,
    bus: messageBus,
    db,
    file: openFile || undefined,
    gateway,
    joinToken: () => secrets.joinToken,
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

/** A node that will never reach the bus had better hear it when it joins than when it is approved. */
function refuseOutOfReach(bus: MessageBus, api: Handler): Handler {
  return (request, response) => {
    if (pathOf(request) === '/api/node/register') bus.urlFor(peerOf(request))
    return api(request, response)
  }
}

interface Secrets {
  adminKey: string
  joinToken: string
  clusterSecret: string
  owner: string
}

function loadSecrets(folder: DataFolder): Secrets {
  return {
    adminKey: readOrCreateSecret(folder.file('admin.key'), () => newSecret('fla')),
    joinToken: readOrCreateSecret(folder.file('join.token'), () => newSecret('flj')),
    clusterSecret: readOrCreateSecret(folder.file('cluster.secret'), () => newSecret('flc')),
    owner: readOrCreateSecret(folder.file('frontend.id'), randomUUID),
  }
}

async function listApproved(db: Database): Promise<{ nodeId: string; publicKey: string }[]> {
  const approved = (await listNodes(db)).filter((node) => node.approved_at !== null)
  return approved.map((node) => ({ nodeId: node.id, publicKey: node.public_key }))
}
