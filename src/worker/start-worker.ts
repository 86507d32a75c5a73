import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { NodeCredentials } from '../api/admin/schemas.ts'
import type { Hardware } from '../api/hardware.ts'
import type { BusAddress } from '../bus/connect.ts'
import type { Address } from '../platform/address.ts'
import { AppError, messageOf } from '../platform/errors.ts'
import { CLUSTER_FILE, KeptCluster } from '../platform/kept-cluster.ts'
import { Metrics } from '../platform/metrics/metrics.ts'
import type { Clock } from '../platform/run/clock.ts'
import { Lifetime } from '../platform/run/lifetime.ts'
import type { Logger } from '../platform/run/log.ts'
import type { Trust } from '../platform/tls/trust.ts'
import type { Tracer } from '../platform/tracing/tracer.ts'
import { DataTls, isDataTlsWanted, type DataTlsMode } from './data-port/data-tls.ts'
import { enginePool } from './data-port/engine-call.ts'
import type { DataPortOptions } from './data-port/handler.ts'
import { CLOSE_GRACE_MS, openDataPort, openHealthPort } from './data-port/open-ports.ts'
import { autoLabels } from './hardware/auto-labels.ts'
import { openBoot, type Boot } from './membership/boot.ts'
import { Frontends, type Facts } from './membership/frontends.ts'
import type { Identity } from './membership/identity.ts'
import { KeptKey } from './membership/kept-key.ts'
import { takePart, type Departure } from './membership/membership.ts'
import { NodeBus } from './membership/node-bus.ts'
import { Standing } from './membership/standing.ts'
import { MachineWatch } from './memory/machine-watch.ts'
import { leaveEngines } from './processes/living-engines.ts'
import { machineBoot } from './processes/process-identity.ts'
import { obey } from './replicas/handle-commands.ts'
import { openReplicas, type Replicas, type ReplicasOptions } from './replicas/open-replicas.ts'
import type { WorkerReplica } from './replicas/replica.ts'
import { fitHeartbeat } from './report/fit-report.ts'
import { Heartbeats } from './report/heartbeats.ts'
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

const GOODBYE_MS = 2000
/** What ending engines may take on top of draining them. */
const KILL_MS = 30_000
const NO_DATA_TLS =
  'The frontend knows nothing of encrypted data ports, which --data-tls on asks for: update it, or start with --data-tls auto.'

/** Opens the data port and joins; from then on does what it is told over the bus and tells what it runs. */
export async function startWorker(options: WorkerOptions, clock: Clock, log: Logger): Promise<Worker> {
  const life = new Lifetime(clock, (step, problem) => log.warn({ step, error: messageOf(problem) }, 'worker: stopping'))
  const { identity, nodeType, metrics = new Metrics() } = options
  const { publicKey } = identity
  const standing = new Standing(clock)
  const runId = randomUUID()
  const kept = openKept(options)
  const { cluster, boot } = kept
  const frontends = frontendsOf(options, { cluster, runId, clock })
  /** None on an agent. */
  let replicas: Replicas | undefined
  let isLeaving = false
  const leavesEngines = (): boolean => options.replicas.keepEngines && !standing.isSentAway
  const all = (): WorkerReplica[] => replicas?.supervisor.all() ?? []
  const report = () => replicas?.supervisor.report() ?? []
  const problem = (): string | undefined => standing.problem(link.isConnected())
  const link = new NodeBus({
    seed: identity.seed,
    log,
    address: options.busAddress,
    obey: (bus, id) =>
      obey(bus, id, {
        replicas,
        nextSeq: () => heartbeats.nextSeq(),
        onShutdown: (reason) => standing.depart({ why: 'removed', message: reason }),
        onUnknown: () => standing.onDue(),
        isOther: (from) => cluster.isOther(from),
      }),
    onConnected() {
      heartbeats.wake()
      standing.onJoined()
    },
  })
  const heartbeats = new Heartbeats({
    boot,
    runId,
    publish: (heartbeat) => link.publish('heartbeat', fitHeartbeat(heartbeat)),
    report,
    engines: () => replicas?.engines.report() ?? [],
    hardware: () => machine.last()!,
    isReturned: () => standing.isReturned(),
    unread: () => machine.unread(),
    clock,
    log,
  })
  const { measure } = options
  const machine = new MachineWatch({ measure, replicas: all, onNews: () => heartbeats.wake(), clock, log })
  const onChange = (): void => {
    heartbeats.wake()
    machine.replicasChanged()
  }
  life.own('boot', () => (leavesEngines() ? undefined : boot.end()))
  const checks = { worker: problem }
  const counts = workerMetrics(metrics, { problem, replicas: report, hardware: () => machine.last() })
  await openHealthPort(options, checks, life, log)
  const served = { replicas: () => replicas, isLeaving: () => isLeaving }
  const dataPort = {
    ...routesTo(served),
    dataKey: () => kept.dataKey.key,
    checks,
    counts,
    metrics,
    tracer: options.tracer,
    runId,
    pool: enginePool(),
  }
  const address = await openDataPort(options, dataPort, kept.dataTls, life, log)
  await machine.start()
  life.own('measurements', () => machine.dispose())
  // After the ports: a worker that cannot have them must not have touched what another left running.
  if (nodeType === 'backend') {
    const { fakeDevices } = machine
    const gpuVendor = (): string | null => machine.last()!.gpu_vendor
    const files = frontends.filesFor(() => standing.nodeId)
    const deps = { publicKey, clock, log, life, onChange, onPhase: counts.phase, leavesEngines, fakeDevices, gpuVendor }
    replicas = await openReplicas(options.replicas, files, deps)
  }
  life.own('bus', () => link.dispose())
  life.own('heartbeats', () => heartbeats.dispose())

  const registration = registrationOf(options, kept, address, machine.last()!)
  const stopPresent = (): void => replicas?.supervisor.stopPresent()
  const parts = { registration, kept, standing, frontends, link, heartbeats, machine, stopPresent }
  const over = stayMember(parts, clock, log)
  life.own('goodbye', async () => {
    over.abort()
    const { nodeId, isSentAway } = standing
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
  const stopWithinMs = options.replicas.limits.drainMs + KILL_MS + 2 * CLOSE_GRACE_MS + GOODBYE_MS
  const { joined, departed } = standing
  return { joined, departed, problem, dispose: () => life.end(stopWithinMs) }
}

/** What the worker keeps in its folder of its place in a cluster. */
interface Kept {
  cluster: KeptCluster
  dataKey: KeptKey
  /** Undefined where the data port is not encrypted. */
  dataTls: DataTls | undefined
  boot: Boot
}

function openKept({
  identity,
  isNewCluster,
  dataTls: mode = 'auto',
  listen,
  advertise,
  replicas,
}: WorkerOptions): Kept {
  const { folder, restartEngines } = replicas
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const cluster = new KeptCluster(join(folder, CLUSTER_FILE))
  if (isNewCluster) cluster.forget()
  const dataKey = new KeptKey(join(folder, 'data.key'))
  const isWanted = isDataTlsWanted(mode, listen, advertise)
  const dataTls = isWanted ? new DataTls(identity.seed, mode, join(folder, 'data.ca')) : undefined
  const boot = openBoot(join(folder, 'boot.json'), machineBoot(), restartEngines)
  return { cluster, dataKey, dataTls, boot }
}

interface MemberParts {
  registration: Facts
  kept: Kept
  standing: Standing
  frontends: Frontends
  link: NodeBus
  heartbeats: Heartbeats
  machine: MachineWatch
  /** Ends what runs now; what is started later runs. */
  stopPresent: () => void
}

/** Joins the cluster and stays in it, until the returned controller is aborted or the cluster sends this node away. */
function stayMember(parts: MemberParts, clock: Clock, log: Logger): AbortController {
  const { registration, kept, standing, frontends, link, heartbeats, machine, stopPresent } = parts
  const over = new AbortController()
  const membership = {
    frontends,
    registration,
    link,
    clock,
    random: Math.random,
    log,
    onRegistered: (id: string) => standing.onRegistered(id),
    onProblem: (found: string | undefined) => standing.onProblem(found),
    onSecond() {
      // Off the bus, so that no command for the first one reaches it.
      void link.leave().catch(() => {})
      stopPresent()
    },
    onUnknown: () => standing.onReturned(),
    isDue: () => standing.takeDue(),
    onCredentials(_id: string, given: NodeCredentials) {
      standing.onApproved()
      const { data_ca: ca, data_key: key, heartbeat_period_ms: periodMs } = given
      if (kept.dataTls?.use(ca) === false) return standing.depart({ why: 'refused', message: NO_DATA_TLS })
      kept.dataKey.keep(key)
      machine.every(periodMs)
      heartbeats.every(periodMs)
    },
  }
  void takePart(membership, over.signal).then((departure) => departure && standing.depart(departure))
  void standing.departed.then(({ why }) => {
    forget(kept, why)
    over.abort()
  })
  return over
}

function forget({ dataKey, dataTls, cluster }: Kept, why: Departure['why']): void {
  dataKey.forget()
  dataTls?.forget()
  // Removed, it belongs to no cluster; where it is started next, it may join.
  if (why === 'removed') cluster.forget()
}

function frontendsOf(
  { frontendUrls: urls, trust, joinToken, identity }: WorkerOptions,
  { cluster, runId, clock }: { cluster: KeptCluster; runId: string; clock: Clock },
): Frontends {
  const { seed, old } = identity
  return new Frontends({ urls, trust, joinToken, seed, runId, old, cluster, nowMs: () => clock.nowMs() })
}

function registrationOf(options: WorkerOptions, { dataTls, boot }: Kept, address: string, machine: Hardware): Facts {
  const { nodeType } = options
  return {
    name: options.nodeName,
    node_type: nodeType,
    public_key: options.identity.publicKey,
    address,
    version: options.version,
    boot_id: boot.id,
    max_replicas_per_model: options.maxReplicasPerModel,
    vram_budget: options.vramBudget,
    ...(dataTls && nodeType === 'backend' ? { tls_fingerprint: dataTls.fingerprint } : {}),
    labels: options.labels,
    auto_labels: autoLabels(machine),
  }
}

interface Served {
  replicas: () => Replicas | undefined
  isLeaving: () => boolean
}

/** What is reached at the data port: replicas, and their logs. */
function routesTo({ replicas, isLeaving }: Served): Pick<DataPortOptions, 'replicas' | 'extra'> {
  return {
    replicas: {
      find(id) {
        if (isLeaving()) throw new AppError('unavailable', 'The worker of this node is about to be started again.')
        return replicas()?.supervisor.find(id)
      },
    },
    async extra(request, response, path) {
      const running = replicas()
      if (!running || !/^\/logs(\/|$)/.test(path)) return false
      await running.readLogs(request, response, path.slice('/logs'.length))
      return true
    },
  }
}
