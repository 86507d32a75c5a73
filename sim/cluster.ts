import type { PlacePolicy } from '../src/core/placement/types.ts'
import type { Pace } from '../src/control/turn/pace.ts'
import { hashSecret } from '../src/platform/secrets.ts'
import type { LivenessLimits } from '../src/core/nodes/liveness.ts'
import type { AppliedPlan } from './checks/applied-plan.ts'
import type { Reached } from './checks/check.ts'
import type { EventQueue } from './event-queue.ts'
import { BusExchange } from './ground/bus-exchange.ts'
import { Network } from './ground/network.ts'
import { SimStore } from './ground/sim-store.ts'
import { drawHardware } from './hardware.ts'
import { Health } from './health.ts'
import type { Hooks } from './hooks.ts'
import type { EngineChances, SimEngine } from './machine/engine.ts'
import { copyName, Machine } from './machine/machine.ts'
import type { Random } from './random.ts'
import { DataPath } from './roles/data-path.ts'
import { WorkerCalls } from './roles/frontend-calls.ts'
import { FrontendProcess } from './roles/frontend-process.ts'
import { GatewayDisk, GatewayProcess } from './roles/gateway-process.ts'
import { WorkerProcess } from './roles/worker-process.ts'
import { noCounts, type Counts } from './report/counts.ts'
import { paceFor } from './paces.ts'
import { streamOf } from './streams.ts'
import type { Trace } from './report/trace.ts'

export interface Settings {
  heartbeatPeriodMs: number
  pace: Pace
  /** How often a worker looks at its connection: less often than the real one, since most looks see nothing. */
  checkMs: number
  /** How often it asks whether it is still wanted, though all is well. */
  refreshMs: number
  /** The same of a gateway and its table. */
  gateway: { checkMs?: number; staleAfterMs?: number }
  /** How often a worker measures its machine when nothing is new. */
  measureMs: number
  /** From one request of some client to the next. */
  meanRequestMs: number
  liveness: LivenessLimits
  policy: PlacePolicy
}

export interface ClusterDeps {
  seed: number
  nodes: number
  hours: number
  queue: EventQueue
  trace: Trace
  hooks: Hooks
}

/** What checks want to know as it happens. */
export interface Watchers {
  onOutOfMemory: (machine: Machine, engine: SimEngine) => void
  onServed: (engine: SimEngine, reached: Reached) => void
  onToldToEnd: (machine: Machine, engine: SimEngine) => void
  onPlan: (plan: AppliedPlan) => void
  onAllowed: (nodeId: string) => void
}

function nothing(): void {}

const MISSED_HEARTBEATS = 3
export const TIERS = ['fast', 'slow'] as const
/** Engines outlive a worker for so long. */
const ORPHAN_GRACE_MS = 60_000

/** A whole cluster: machines, two frontends that compete to lead, two gateways, the store and the bus between them. */
export class Cluster {
  readonly queue: EventQueue
  readonly trace: Trace
  readonly hooks: Hooks
  readonly random: Random
  readonly settings: Settings
  readonly network: Network
  readonly exchange: BusExchange
  readonly store: SimStore
  readonly chances: EngineChances
  readonly counts: Counts = noCounts()
  readonly health: Health
  readonly frontends: WorkerCalls
  readonly dataPath: DataPath
  readonly machines: readonly Machine[]
  /** Clones of machines, by the machine that each was made of: up only while a fault has them run. */
  readonly copies = new Map<Machine, Machine>()
  readonly frontendNames = ['f1', 'f2'] as const
  readonly gatewayNames = ['g1', 'g2'] as const
  readonly frontendsUp = new Map<string, FrontendProcess>()
  readonly gatewaysUp = new Map<string, GatewayProcess>()
  /** Engines that have answered a request lately, and where they run; who looks takes out those that have none. */
  readonly busyEngines = new Map<SimEngine, Machine>()
  /** Frontends answer workers as if their store had no rows. */
  areFrontendsEmpty = false
  readonly joinToken = 'simulated-join-token'
  readonly watchers: Watchers = {
    onOutOfMemory: nothing,
    onServed: nothing,
    onToldToEnd: nothing,
    onPlan: nothing,
    onAllowed: nothing,
  }
  readonly #gatewayDisks = new Map<string, GatewayDisk>()
  readonly #byAddress = new Map<string, Machine>()
  readonly #seed: number

  constructor({ seed, nodes, hours, queue, trace, hooks }: ClusterDeps) {
    this.#seed = seed
    this.queue = queue
    this.trace = trace
    this.hooks = hooks
    this.random = streamOf(seed, 'cluster')
    const { random } = this
    const { offlineAfterMs, ...pace } = paceFor(nodes * hours)
    const heartbeatPeriodMs = random.oneOf(pace.heartbeats)!
    this.settings = {
      heartbeatPeriodMs,
      pace: pace.control,
      checkMs: pace.checkMs,
      refreshMs: pace.refreshMs,
      gateway: pace.gateway,
      measureMs: pace.measurePerHeartbeat * heartbeatPeriodMs,
      meanRequestMs: pace.meanRequestMs,
      liveness: {
        unreachableAfterMs: Math.min(MISSED_HEARTBEATS * heartbeatPeriodMs, offlineAfterMs),
        offlineAfterMs,
      },
      policy: random.oneOf(['spread', 'pack'] as const)!,
    }
    this.chances = {
      failure: random.oneOf([0, 0.1, 0.5])!,
      meanLifeMs: 6 * 3_600_000,
      mostLoadMs: 15_000,
      isHonest: false,
    }
    this.health = new Health(queue)
    this.network = new Network(queue, streamOf(seed, 'network'))
    this.exchange = new BusExchange(queue, this.network, (nodeId) => this.watchers.onAllowed(nodeId))
    this.store = new SimStore(queue, this.network, streamOf(seed, 'store'), hooks)
    this.frontends = new WorkerCalls(this)
    this.dataPath = new DataPath(this)
    this.#insertToken()
    this.machines = Array.from({ length: nodes }, (_, index) => this.#newMachine(index))
    for (const name of this.gatewayNames) this.#gatewayDisks.set(name, new GatewayDisk())
    for (const name of this.frontendNames) this.startFrontend(name)
    for (const name of this.gatewayNames) this.startGateway(name)
    for (const machine of this.machines) queue.after(random.between(0, 20_000), () => this.bootMachine(machine))
  }

  machineAt(address: string): Machine | undefined {
    return this.#byAddress.get(address)
  }

  /** Of a machine and its copy the one whose address the node's row has. */
  machineOfNode(nodeId: string): Machine | undefined {
    const original = this.machines.find((machine) => machine.nodeId === nodeId)
    if (this.copies.size === 0) return original
    const { address = '' } = this.store.mirror.nodes.get(nodeId) ?? {}
    const holder = this.machineAt(address)
    return holder?.nodeId === nodeId ? holder : original
  }

  /** Its node's row has the address of another machine, which has the same key. */
  hasLostPlace({ nodeId, address }: Machine): boolean {
    const row = nodeId === undefined ? undefined : this.store.mirror.nodes.get(nodeId)
    return row !== undefined && row.address !== address
  }

  /** Copies too. */
  everyMachine(): readonly Machine[] {
    return this.copies.size === 0 ? this.machines : [...this.machines, ...this.copies.values()]
  }

  /** The copy of a machine: the same one each time. It is off at first. */
  copyOf(original: Machine): Machine {
    const known = this.copies.get(original)
    if (known) return known
    const copy = this.#newMachine(original.index, original)
    this.copies.set(original, copy)
    return copy
  }

  frontendOf(name: string): FrontendProcess | undefined {
    return this.frontendsUp.get(name)
  }

  startFrontend(name: string): void {
    if (this.frontendsUp.has(name)) return
    this.trace.add(name, 'starts')
    this.frontendsUp.set(name, new FrontendProcess(this, name))
  }

  killFrontend(name: string): void {
    this.frontendsUp.get(name)?.process.kill()
    this.frontendsUp.delete(name)
  }

  startGateway(name: string): void {
    if (this.gatewaysUp.has(name)) return
    this.trace.add(name, 'starts')
    this.gatewaysUp.set(name, new GatewayProcess(this, name, this.#gatewayDisks.get(name)!))
  }

  killGateway(name: string): void {
    this.gatewaysUp.get(name)?.process.kill()
    this.gatewaysUp.delete(name)
  }

  /** A frontend has made a plan in the transaction that it is in; it counts when that is committed. */
  planned(name: string, plan: AppliedPlan): void {
    this.counts.turns += 1
    const { steps } = plan.plan
    if (steps.length === 0) return
    this.store.onceEnded(name, () => {
      this.counts.evictions += steps.filter(({ kind }) => kind === 'evict').length
      this.watchers.onPlan(plan)
    })
  }

  bootMachine(machine: Machine): void {
    machine.boot()
    this.startWorker(machine)
  }

  startWorker(machine: Machine): void {
    if (!machine.isUp || machine.worker) return
    const worker = new WorkerProcess(this, machine)
    machine.worker = worker
    this.trace.add(machine.name, 'its worker starts')
    void worker.start()
  }

  /** kill -9 of the worker alone. Its engines run on, and are ended after a minute without one. */
  killWorker(machine: Machine): void {
    const { worker } = machine
    if (!worker) return
    worker.kill()
    machine.worker = undefined
    for (const engine of machine.engines.values()) engine.keeper = undefined
    this.queue.after(ORPHAN_GRACE_MS, () => {
      if (machine.worker || !machine.isUp) return
      for (const engine of machine.engines.values()) engine.terminate()
    })
  }

  #newMachine(index: number, copyOf?: Machine): Machine {
    const name = copyOf ? copyName(copyOf.nodeName) : `n${index + 1}`
    // What one run of engines draws is not to depend on whether there is a copy.
    const random = copyOf ? streamOf(this.#seed, `machine ${name}`) : this.random
    const machine = new Machine(index, {
      queue: this.queue,
      random,
      readings: streamOf(this.#seed, `readings of ${name}`),
      chances: this.chances,
      hardware: copyOf?.hardware ?? drawHardware(random),
      slots: copyOf?.slots ?? random.between(1, 2),
      labels: copyOf?.labels ?? { tier: random.oneOf(TIERS)! },
      copyOf,
      onOutOfMemory: (...happened) => {
        this.counts.outOfMemory += 1
        this.watchers.onOutOfMemory(...happened)
      },
      onStart: () => (this.counts.starts += 1),
    })
    this.#byAddress.set(machine.address, machine)
    return machine
  }

  #insertToken(): void {
    this.store.run(
      `insert into join_tokens (id, name, token_hash, created_at) values ('token', 'default', $1, now_ms())`,
      [hashSecret(this.joinToken)],
    )
  }
}
