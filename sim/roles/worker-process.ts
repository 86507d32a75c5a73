import { randomUUID } from 'node:crypto'
import type { NodeCredentials, Registered } from '../../src/api/admin/schemas.ts'
import type { Bus } from '../../src/bus/bus.ts'
import type { Hardware as ReportedHardware } from '../../src/api/hardware.ts'
import { sleep } from '../../src/platform/run/clock.ts'
import { openBoot, type Boot } from '../../src/worker/membership/boot.ts'
import { autoLabels } from '../../src/worker/hardware/auto-labels.ts'
import type { Facts } from '../../src/worker/membership/frontends.ts'
import { Heartbeats } from '../../src/worker/report/heartbeats.ts'
import { startMeasurements } from '../../src/worker/memory/measurements.ts'
import { takePart, type Departure } from '../../src/worker/membership/membership.ts'
import { NodeBus } from '../../src/worker/membership/node-bus.ts'
import { obey } from '../../src/worker/replicas/handle-commands.ts'
import { Ports } from '../../src/worker/replicas/ports.ts'
import { Supervisor } from '../../src/worker/replicas/supervisor.ts'
import { UnreadEnds } from '../../src/worker/memory/unread-ends.ts'
import type { Cluster } from '../cluster.ts'
import { SimProcess } from '../ground/sim-process.ts'
import { simLog } from '../ground/sim-log.ts'
import type { Machine } from '../machine/machine.ts'
import { simEngines, simFiles } from '../machine/sim-engines.ts'
import { simProcesses } from '../machine/sim-processes.ts'
import { engineReports } from '../model-kinds.ts'

const RETURNED_FOR_MS = 5 * 60_000
const BOOT_FILE = 'boot.json'
const ENGINE_PORTS = { from: 20_000, to: 20_199 }
const LIMITS = { drainMs: 30_000, orphanGraceMs: 60_000 }

/** One run of a worker on a machine, put together as src/worker/start-worker.ts does it. */
export class WorkerProcess {
  readonly process: SimProcess
  readonly machine: Machine
  readonly runId = randomUUID()
  /** It has taken over what was left, and takes commands. */
  supervisor: Supervisor | undefined
  credentials: NodeCredentials | undefined
  /** The cluster does not want it. */
  departure: Departure | undefined
  isLeaving = false
  readonly #cluster: Cluster
  readonly #over = new AbortController()
  #heartbeats: Heartbeats | undefined
  #link: NodeBus | undefined

  constructor(cluster: Cluster, machine: Machine) {
    this.#cluster = cluster
    this.machine = machine
    this.process = new SimProcess(machine.name, 'node', cluster.queue)
  }

  get isJoined(): boolean {
    return this.credentials !== undefined && this.supervisor !== undefined && (this.#link?.isConnected() ?? false)
  }

  /** How far it is, for people. */
  describe(): string {
    const { isFrozen } = this.process
    const parts = { supervisor: this.supervisor, credentials: this.credentials, bus: this.#link?.isConnected() }
    const missing = Object.entries(parts).flatMap(([name, part]) => (part ? [] : [name]))
    const why = this.departure?.message ?? (this.isLeaving ? 'it was told to end' : '')
    return `${isFrozen ? 'frozen' : 'up'}, without ${missing.join(', ') || 'nothing'} ${why}`
  }

  async start(): Promise<void> {
    const { machine, process } = this
    const { queue, random, trace, hooks, exchange, frontends: calls } = this.#cluster
    const { clock } = process
    const log = simLog(trace, process.name)
    const boot = openBoot(BOOT_FILE, machine.bootName, false, machine.disk)
    let nodeId: string | undefined
    let isUnknown = false
    let returnedMs: number | undefined
    const link = new NodeBus({
      seed: machine.publicKey,
      log,
      connect: async ({ clientId }) => {
        await calls.hop(process)
        return exchange.admit(process, clientId)
      },
      obey: (bus: Bus, id: string) => {
        const replicas = { supervisor, engines: nobody, files: nobody, pulls: nobody } as never
        const onShutdown = (reason: string): void => this.#depart({ why: 'removed', message: reason })
        const onUnknown = (): void => void (isUnknown = true)
        obey(bus, id, { replicas, nextSeq: () => heartbeats.nextSeq(), onShutdown, onUnknown })
      },
      onConnected: () => heartbeats.wake(),
    })
    const heartbeats: Heartbeats = new Heartbeats({
      boot,
      runId: this.runId,
      publish: (message) => {
        const told = hooks.heartbeat ? hooks.heartbeat(message, process) : message
        this.#cluster.counts.heartbeats += 1
        machine.noteReading(`${message.boot_id} ${message.seq}`, begunMs)
        link.publish('heartbeat', told)
      },
      report: () => supervisor.report(),
      engines: () => engineReports(machine.hasProgram),
      hardware: () => measurements.last(),
      isReturned: () => returnedMs !== undefined && clock.nowMs() - returnedMs < RETURNED_FOR_MS,
      unread: () => ends.unread(),
      clock,
      log,
    })
    this.#link = link
    this.#heartbeats = heartbeats
    const limits = hooks.workerLimits?.(LIMITS) ?? LIMITS
    const ports = new Ports({
      range: ENGINE_PORTS,
      clock,
      log,
      random: () => random.next(),
      isFree: async (port) => machine.isPortFree(port),
    })
    const real = new Supervisor({
      ports,
      engines: simEngines(machine),
      files: simFiles(machine, process, random),
      logs: { write: () => {}, lastLines: () => [], close: () => {} },
      journal: machine.journal,
      clock,
      log,
      limits,
      onChange: () => {
        heartbeats.wake()
        if (ends.isOpen() || meter.isStale()) measurements.wake()
      },
      processes: simProcesses({ machine, process, queue, random, onToldToEnd: this.#cluster.watchers.onToldToEnd }),
    })
    const supervisor = hooks.supervisor?.(real, process) ?? real
    const meter = new SimMeter(machine, supervisor)
    const ends = new UnreadEnds({ replicas: () => supervisor.all(), clock })
    let begunMs = clock.nowMs()
    /** Shows how it was at the beginning. The first is quick: a worker that begins must not be late for that. */
    const measure = async (): Promise<ReportedHardware & { begunMs: number }> => {
      const report = { ...machine.report(), begunMs: clock.nowMs() }
      const tookMs = this.isJoined ? machine.readingMs() : 0
      if (tookMs > 0) await sleep(clock, tookMs)
      return report
    }
    const measurements = await startMeasurements(measure, clock, log, {
      look: async () => meter.look(),
      onNews: () => heartbeats.wake(),
      onRead: (atMs) => {
        begunMs = atMs
        return ends.read(atMs)
      },
      isOpen: () => ends.isOpen(),
    })
    await supervisor.adopt({ isClean: false })
    this.supervisor = supervisor
    const registration: Facts = {
      name: machine.nodeName,
      node_type: 'backend',
      public_key: machine.publicKey,
      address: machine.address,
      version: 'sim',
      boot_id: boot.id,
      max_replicas_per_model: machine.slots,
      vram_budget: null,
      labels: machine.labels,
      auto_labels: autoLabels(measurements.last()),
    }
    const departure = await takePart(
      {
        frontends: hooks.calls?.(calls.of(process, this.runId), process) ?? calls.of(process, this.runId),
        registration,
        link,
        clock,
        random: () => random.next(),
        log,
        checkMs: this.#cluster.settings.checkMs,
        refreshMs: this.#cluster.settings.refreshMs,
        onRegistered: (id) => {
          nodeId = id
          machine.nodeId = id
        },
        onSecond: () => {
          void link.leave()
          real.stopPresent()
        },
        onUnknown: () => void (returnedMs = clock.nowMs()),
        isDue: () => {
          const isDue = isUnknown
          isUnknown = false
          return isDue
        },
        onCredentials: (_id, given) => {
          this.credentials = given
          // Less often than the real one: what is new wakes it anyway.
          measurements.every(this.#cluster.settings.measureMs)
          heartbeats.every(given.heartbeat_period_ms)
        },
      },
      this.#over.signal,
    )
    if (departure) this.#depart(departure)
    else await this.#goodbye(nodeId, boot, calls.of(process, this.runId))
  }

  kill(): void {
    this.process.kill()
  }

  /** SIGTERM: lets running requests finish, ends the engines, says goodbye. */
  leave(): void {
    if (this.isLeaving) return
    this.isLeaving = true
    this.process.run(() => this.#over.abort())
  }

  /** Removed or refused: stops what runs and ends. */
  #depart(departure: Departure): void {
    if (this.departure || this.process.isDead) return
    this.departure = departure
    this.#over.abort()
    void this.supervisor?.stopAll().then(() => this.#end())
  }

  async #goodbye(
    nodeId: string | undefined,
    boot: Boot,
    calls: { deregister: (nodeId: string, bootId: string) => Promise<unknown> },
  ): Promise<void> {
    await this.supervisor?.stopAll()
    if (nodeId !== undefined) await calls.deregister(nodeId, boot.id).catch(() => {})
    boot.end()
    await this.#end()
  }

  async #end(): Promise<void> {
    await this.#heartbeats?.dispose()
    await this.#link?.dispose()
    this.machine.worker = undefined
    this.process.kill()
  }
}

export type FrontendCalls = {
  register: (facts: Facts) => Promise<Registered>
  credentials: (nodeId: string) => Promise<Registered>
  deregister: (nodeId: string, bootId: string) => Promise<unknown>
}

const nobody = {}

/** As src/worker/memory/memory-meter.ts: looks at what engines hold, to be told when the machine has been measured after it. */
class SimMeter {
  readonly #machine: Machine
  readonly #supervisor: Supervisor
  #seen = new Set<number>()
  readonly #seenReady = new WeakSet<object>()

  constructor(machine: Machine, supervisor: Supervisor) {
    this.#machine = machine
    this.#supervisor = supervisor
  }

  isStale(): boolean {
    const replicas = this.#supervisor.all()
    if (replicas.some((replica) => replica.state === 'ready' && !this.#seenReady.has(replica))) return true
    const living = new Set(replicas.map(({ pid }) => pid))
    return [...this.#seen].some((pid) => !living.has(pid))
  }

  look(): () => boolean {
    const { memory, hardware, engines } = this.#machine
    const looks = this.#supervisor.all().flatMap((replica) => {
      const engine = replica.pid === undefined ? undefined : engines.get(replica.pid)
      const taken = engine && memory.takenBy(engine)
      if (replica.state === 'ready') this.#seenReady.add(replica)
      if (!engine || !taken) return []
      const devices = hardware.tellsApart || hardware.devices.length === 0 ? [...taken.devices] : null
      return [{ replica, pid: engine.pid, look: { loaded: replica.state === 'ready', ram: taken.ram, devices } }]
    })
    const now = new Set(looks.map(({ pid }) => pid))
    const hasEnded = [...this.#seen].some((pid) => !now.has(pid))
    this.#seen = now
    return () => {
      const still = looks.filter(({ replica, pid }) => replica.pid === pid)
      const news = still.map(({ replica, look }) => replica.noteMemory(look))
      return hasEnded || news.includes(true)
    }
  }
}
