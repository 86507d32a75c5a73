import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { NodeCredentials } from '../api/admin/schemas.ts'
import { REPLICAS_PREFIX } from '../api/data-port.ts'
import type { Hardware } from '../api/hardware.ts'
import type { BusAddress } from '../bus/connect.ts'
import { formatAddress, type Address } from '../platform/address.ts'
import type { Clock } from '../platform/run/clock.ts'
import { AppError, messageOf } from '../platform/errors.ts'
import type { Check } from '../http/server/health.ts'
import { startHttpServer } from '../http/server.ts'
import { CLUSTER_FILE, KeptCluster } from '../platform/kept-cluster.ts'
import { Lifetime } from '../platform/run/lifetime.ts'
import type { Logger } from '../platform/run/log.ts'
import { Metrics } from '../platform/metrics/metrics.ts'
import type { Tracer } from '../platform/tracing/tracer.ts'
import type { Trust } from '../platform/tls/trust.ts'
import { openBoot } from './membership/boot.ts'
import {
  dataPortCables,
  dataPortHandler,
  dataPortUpgrades,
  healthHandler,
  replicaHandler,
  replicaShortcut,
  type DataPortOptions,
} from './data-port/handler.ts'
import { DataTls, isDataTlsWanted, type DataTlsMode } from './data-port/data-tls.ts'
import { enginePool } from './data-port/engine-call.ts'
import { Frontends, type Facts } from './membership/frontends.ts'
import { autoLabels } from './hardware/auto-labels.ts'
import { FakeDevices } from './hardware/fake-devices.ts'
import { createProcessVram } from './hardware/process-vram.ts'
import { fitHeartbeat } from './report/fit-report.ts'
import { Heartbeats } from './report/heartbeats.ts'
import type { Identity } from './membership/identity.ts'
import { KeptKey } from './membership/kept-key.ts'
import { startMeasurements } from './memory/measurements.ts'
import { MemoryMeter } from './memory/memory-meter.ts'
import { UnreadEnds } from './memory/unread-ends.ts'
import { takePart, type Departure } from './membership/membership.ts'
import { NodeBus } from './membership/node-bus.ts'
import { obey } from './replicas/handle-commands.ts'
import { openReplicas, type Replicas, type ReplicasOptions } from './replicas/open-replicas.ts'
import { leaveEngines } from './processes/living-engines.ts'
import { machineBoot } from './processes/process-identity.ts'
import type { WorkerReplica } from './replicas/replica.ts'
import { workerMetrics } from './report/worker-metrics.ts'

export interface WorkerOptions {
  frontendUrls: readonly string[]
  /** How frontends at https addresses are recognised. */
  trust?: Trust | undefined
  joinToken: string
  /** Join whatever cluster answers, and forget the one before. */
  isNewCluster?: boolean | undefined
  identity: Identity
  nodeName: string
  nodeType: 'backend' | 'agent'
  labels: Record<string, string>
  maxReplicasPerModel: number
  vramBudget: string | null
  listen: Address
  /** Where gateways reach the data port, when it is not where it listens. */
  advertise: Address | undefined
  /** Whether the data port is encrypted; `auto`: beyond this machine. */
  dataTls?: DataTlsMode
  /** Where else to tell how the worker is, if anywhere. */
  healthListen: Address | undefined
  version: string
  /** An external bus is reached as configured here; otherwise registration says where the bus is. */
  busAddress?: BusAddress | undefined
  replicas: ReplicasOptions
  measure: () => Promise<Hardware>
  /** Where it counts, when that is not a place of its own. */
  metrics?: Metrics | undefined
  /** Missing where nothing is traced. */
  tracer?: Tracer | undefined
}

export interface Worker {
  /** The first time on the bus. Rejects when the cluster does not take this node. */
  joined: Promise<void>
  /** The cluster does not want this node, or no longer. Never rejects; what runs is stopped by `dispose`. */
  departed: Promise<Departure>
  /** Why it is not taking part, if it is not. */
  problem(): string | undefined
  /** Lets running requests finish, ends the engines, says goodbye. */
  dispose(): Promise<void>
}

/** How long requests on the data port may still run once their replicas have been drained. */
const CLOSE_GRACE_MS = 1000
const GOODBYE_MS = 2000
/** Long enough for a person to import a newer backup, or for the rules to be loaded elsewhere. */
const RETURNED_FOR_MS = 5 * 60_000
/** What ending engines may take on top of draining them. */
const KILL_MS = 30_000
const NO_DATA_TLS =
  'The frontend knows nothing of encrypted data ports, which --data-tls on asks for: update it, or start with --data-tls auto.'

/** Opens the data port and joins; from then on does what it is told over the bus and tells what it runs. */
export async function startWorker(options: WorkerOptions, clock: Clock, log: Logger): Promise<Worker> {
  const life = new Lifetime(clock, (step, problem) => log.warn({ step, error: messageOf(problem) }, 'worker: stopping'))
  const stopWithinMs = options.replicas.limits.drainMs + KILL_MS + 2 * CLOSE_GRACE_MS + GOODBYE_MS
  const { identity, nodeType } = options
  const { promise: joined, resolve: onJoined, reject: onRefused } = Promise.withResolvers<void>()
  const { promise: departed, resolve: depart } = Promise.withResolvers<Departure>()
  // Whoever starts a worker may look at one of the two only.
  joined.catch(() => {})
  let isSentAway = false
  let nodeId: string | undefined
  let credentials: NodeCredentials | undefined
  /** None on an agent. */
  let replicas: Replicas | undefined

  const { seed, old } = identity
  const runId = randomUUID()
  const { frontendUrls: urls, trust, joinToken } = options
  mkdirSync(options.replicas.folder, { recursive: true, mode: 0o700 })
  const cluster = new KeptCluster(join(options.replicas.folder, CLUSTER_FILE))
  if (options.isNewCluster) cluster.forget()
  const frontends = new Frontends({ urls, trust, joinToken, seed, runId, old, cluster, nowMs: () => clock.nowMs() })
  const dataKey = new KeptKey(join(options.replicas.folder, 'data.key'))
  const { dataTls: tlsMode = 'auto', listen, advertise } = options
  const dataTls = isDataTlsWanted(tlsMode, listen, advertise)
    ? new DataTls(seed, tlsMode, join(options.replicas.folder, 'data.ca'))
    : undefined
  const bootFile = join(options.replicas.folder, 'boot.json')
  const boot = openBoot(bootFile, machineBoot(), options.replicas.restartEngines)
  /** What a frontend says that a person has to put right. */
  let obstacle: string | undefined
  let isUnknown = false
  let returnedMs: number | undefined
  const problem = (): string | undefined => {
    if (obstacle !== undefined && !link.isConnected()) return obstacle
    if (nodeId === undefined) return 'not registered yet'
    if (!credentials) return 'waiting for approval'
    return link.isConnected() ? undefined : 'not connected to the bus'
  }
  const link = new NodeBus({
    seed: identity.seed,
    log,
    address: options.busAddress,
    obey(bus, id) {
      const onShutdown = (reason: string): void => depart({ why: 'removed', message: reason })
      const nextSeq = (): number => heartbeats.nextSeq()
      const onUnknown = (): void => void (isUnknown = true)
      obey(bus, id, { replicas, nextSeq, onShutdown, onUnknown, isOther: (from) => cluster.isOther(from) })
    },
    onConnected() {
      heartbeats.wake()
      onJoined()
    },
  })
  const heartbeats = new Heartbeats({
    boot,
    runId,
    publish: (heartbeat) => link.publish('heartbeat', fitHeartbeat(heartbeat)),
    report: () => replicas?.supervisor.report() ?? [],
    engines: () => replicas?.engines.report() ?? [],
    hardware: () => measurements.last(),
    isReturned: () => returnedMs !== undefined && clock.nowMs() - returnedMs < RETURNED_FOR_MS,
    unread: () => ends.unread(),
    clock,
    log,
  })
  const fakeDevices = openFakeDevices(log)
  const all = (): WorkerReplica[] => replicas?.supervisor.all() ?? []
  const vram = fakeDevices?.vramOf(all) ?? createProcessVram({ clock })
  const meter = new MemoryMeter({ replicas: all, vram, clock })
  const ends = new UnreadEnds({ replicas: all, clock })
  const onChange = (): void => {
    heartbeats.wake()
    if (ends.isOpen() || meter.isStale()) measurements.wake()
  }
  const leavesEngines = (): boolean => options.replicas.keepEngines && !isSentAway
  let isLeaving = false
  life.own('boot', () => (leavesEngines() ? undefined : boot.end()))
  const checks = { worker: problem }
  const { metrics = new Metrics() } = options
  let hardware = (): Hardware | undefined => undefined
  const counts = workerMetrics(metrics, {
    problem,
    replicas: () => replicas?.supervisor.report() ?? [],
    hardware: () => hardware(),
  })
  await openHealthPort(options, checks, life, log)
  const dataPort: DataPortOptions = {
    replicas: {
      find(id) {
        if (isLeaving) throw new AppError('unavailable', 'The worker of this node is about to be started again.')
        return replicas?.supervisor.find(id)
      },
    },
    dataKey: () => dataKey.key,
    checks,
    counts,
    metrics,
    tracer: options.tracer,
    runId,
    pool: enginePool(),
    async extra(request, response, path) {
      if (!replicas || !/^\/logs(\/|$)/.test(path)) return false
      await replicas.readLogs(request, response, path.slice('/logs'.length))
      return true
    },
  }
  const address = await openDataPort(options, dataPort, dataTls, life, log)
  const measure = async (): Promise<Hardware & { begunMs?: number }> => {
    const machine = await options.measure()
    return fakeDevices?.onto(machine, all()) ?? machine
  }
  const measurements = await startMeasurements(measure, clock, log, {
    look: (machine) => meter.look(machine),
    onNews: () => heartbeats.wake(),
    onRead: (begunMs) => ends.read(begunMs),
    isOpen: () => ends.isOpen(),
  })
  life.own('measurements', () => measurements.dispose())
  hardware = () => measurements.last()
  // After the ports: a worker that cannot have them must not have touched what another left running.
  if (nodeType === 'backend') {
    replicas = await openReplicas(
      options.replicas,
      frontends.filesFor(() => nodeId),
      {
        publicKey: identity.publicKey,
        clock,
        log,
        life,
        onChange,
        onPhase: counts.phase,
        leavesEngines,
        fakeDevices,
        gpuVendor: () => measurements.last().gpu_vendor,
      },
    )
  }
  life.own('bus', () => link.dispose())
  life.own('heartbeats', () => heartbeats.dispose())

  const over = new AbortController()
  const registration: Facts = {
    name: options.nodeName,
    node_type: nodeType,
    public_key: identity.publicKey,
    address,
    version: options.version,
    boot_id: boot.id,
    max_replicas_per_model: options.maxReplicasPerModel,
    vram_budget: options.vramBudget,
    ...(dataTls && nodeType === 'backend' ? { tls_fingerprint: dataTls.fingerprint } : {}),
    labels: options.labels,
    auto_labels: autoLabels(measurements.last()),
  }
  const membership = {
    frontends,
    registration,
    link,
    clock,
    random: Math.random,
    log,
    onRegistered: (id: string) => void (nodeId = id),
    onProblem: (found: string | undefined) => void (obstacle = found),
    onSecond() {
      // Off the bus, so that no command for the first one reaches it.
      void link.leave().catch(() => {})
      replicas?.supervisor.stopPresent()
    },
    onUnknown: () => void (returnedMs = clock.nowMs()),
    isDue() {
      const isDue = isUnknown
      isUnknown = false
      return isDue
    },
    onCredentials(_id: string, given: NodeCredentials) {
      credentials = given
      if (dataTls?.use(given.data_ca) === false) return depart({ why: 'refused', message: NO_DATA_TLS })
      dataKey.keep(given.data_key)
      measurements.every(given.heartbeat_period_ms)
      heartbeats.every(given.heartbeat_period_ms)
    },
  }
  void takePart(membership, over.signal).then((departure) => departure && depart(departure))
  void departed.then((departure) => {
    const { why } = departure
    isSentAway = true
    dataKey.forget()
    dataTls?.forget()
    // Removed, it belongs to no cluster; where it is started next, it may join.
    if (why === 'removed') cluster.forget()
    over.abort()
    onRefused(new AppError('usage', departure.message))
  })

  life.own('goodbye', async () => {
    over.abort()
    // Nobody may hear it: silence says the same, later.
    if (nodeId === undefined || isSentAway || leavesEngines()) return
    await frontends.deregister(nodeId, boot.id).catch(() => {})
  })
  life.own('replicas', () => {
    isLeaving = leavesEngines()
    if (!isLeaving) return replicas?.supervisor.stopAll()
    leaveEngines()
    return replicas?.supervisor.leave()
  })
  return { joined, departed, problem, dispose: () => life.end(stopWithinMs) }
}

function openFakeDevices(log: Logger): FakeDevices | undefined {
  const devices = FakeDevices.from(process.env)
  if (devices) {
    const text = 'FLOTILLA_FAKE_DEVICES is set: this node tells of GPUs that it does not have. It is for tests only'
    log.warn({ devices: devices.count }, text)
  }
  return devices
}

async function openHealthPort(
  { healthListen: listen }: WorkerOptions,
  checks: Record<string, Check>,
  life: Lifetime,
  log: Logger,
): Promise<void> {
  if (!listen) return
  const handler = healthHandler(checks)
  const server = await startHttpServer({
    listen,
    purpose: "the worker's health",
    flag: '--health-listen',
    handler,
    log,
  })
  life.own('health port', () => server.dispose(0))
}

/** Returns what to tell the cluster: an empty host stands for the address that our registration comes from. */
async function openDataPort(
  options: WorkerOptions,
  dataPort: DataPortOptions,
  tls: DataTls | undefined,
  life: Lifetime,
  log: Logger,
): Promise<string> {
  // There is none on an agent; the address says where it would be.
  if (options.nodeType === 'agent')
    return formatAddress(options.advertise ?? { host: '', port: options.listen.port || 9 })
  const purpose = "the worker's data port"
  const server = await startHttpServer({
    listen: options.listen,
    purpose,
    flag: '--worker-listen',
    handler: dataPortHandler(dataPort),
    wire: { prefix: REPLICAS_PREFIX, handler: replicaHandler(dataPort), shortcut: replicaShortcut(dataPort) },
    onUpgrade: dataPortUpgrades(dataPort),
    allowCable: dataPortCables(dataPort),
    tls: tls && { upgrade: () => tls.upgrade, mayBePlain: (socket) => tls.mayBePlain(socket) },
    // More than a gateway takes from its clients, because it adds some of its own.
    limits: { headerBytes: 32 * 1024, headers: 250 },
    log,
  })
  life.own('connections to engines', () => dataPort.pool?.destroy())
  life.own('data port', () => server.dispose(CLOSE_GRACE_MS))
  if (options.advertise) return formatAddress(options.advertise)
  const { host, port } = server.address
  return host === '0.0.0.0' || host === '::' ? `:${port}` : formatAddress({ host, port })
}
