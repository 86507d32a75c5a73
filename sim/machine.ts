import type { Hardware as ReportedHardware } from '../src/api/hardware.ts'
import type { HeartbeatMessage } from '../src/api/bus/messages.ts'
import type { Node } from '../src/core/types.ts'
import { SimEngine } from './engine.ts'
import type { Ground } from './ground.ts'
import type { Hardware } from './hardware.ts'
import { HEARTBEAT_PERIOD_MS } from './limits.ts'
import { MachineMemory } from './machine-memory.ts'
import { engineKinds, engineReports, takenBy } from './model-kinds.ts'
import { SimWorker } from './worker.ts'

export interface MachineDeps {
  ground: Ground
  hardware: Hardware
  slots: number
  labels: Node['labels']
  approved: boolean
  /** True when a frontend is there to talk to. */
  hasFrontend: () => boolean
  publish: (nodeId: string, heartbeat: HeartbeatMessage) => void
  onRegistered: () => void
}

/** A worker that is started again may go on well above where the last one was, if it does not write down each number. */
const MOST_SKIPPED = 1000
/** Of each reading of a device to fail. */
const UNREADABLE = 0.03

/** Of a node that has registered and sent no heartbeat yet. */
const NOT_SAID = {
  availableVram: null,
  devices: [],
  vramBudget: null,
  totalRam: null,
  availableRam: null,
  totalDisk: null,
  availableDisk: null,
} as const

/**
 * A machine of the cluster: keeps its identity over any number of boots, and its engines over any number of workers. It
 * has no worker while it is down, or while its worker alone is.
 */
export class Machine {
  readonly id: string
  worker: SimWorker | undefined
  isUp = false
  /** Every engine process there is. */
  readonly engines = new Set<SimEngine>()
  /** Models whose engine cannot start here for now. */
  readonly brokenModels = new Set<string>()
  /** Grows with every process that comes or goes, so that checks look only when there is something new. */
  version = 0
  readonly hardware: Hardware
  readonly #memory: MachineMemory
  readonly #deps: MachineDeps
  #boots = 0
  /** Of the heartbeats of this boot. */
  #seq = 0
  #hasProgram = true

  constructor(id: string, deps: MachineDeps) {
    this.id = id
    this.hardware = deps.hardware
    this.#memory = new MachineMemory(deps.hardware)
    this.#deps = deps
  }

  boot(): void {
    if (this.isUp) return
    this.isUp = true
    this.#boots += 1
    this.#seq = 0
    this.startWorker()
  }

  /** kill -9 of everything: processes gone, silence. */
  die(): void {
    if (!this.isUp) return
    this.isUp = false
    this.#deps.ground.counts.nodeDeaths += 1
    this.#endWorker()
    for (const engine of this.engines) engine.vanish()
  }

  /** kill -9 of the worker alone. Whoever does it starts it again after so long. */
  killWorker(downMs: number): void {
    const { counts, health, queue } = this.#deps.ground
    counts.workerDeaths += 1
    health.disturbNode(this.id, queue.nowMs + downMs + HEARTBEAT_PERIOD_MS)
    this.#endWorker()
  }

  /** Nothing, if the machine has died meanwhile, or has been up again for long enough to have one. */
  startWorker(): void {
    if (!this.isUp || this.worker) return
    const { ground, hasFrontend, publish } = this.#deps
    const { broken } = ground.parts
    const bootId = `boot${this.#boots}`
    ground.health.disturbNode(this.id, ground.queue.nowMs + HEARTBEAT_PERIOD_MS)
    this.worker = new SimWorker({
      ...ground,
      nodeId: this.id,
      bootId,
      publish,
      found: broken.has('restarts forget') ? [] : [...this.engines],
      seq: broken.has('restarts count anew') ? 0 : this.#seq,
      startEngine: (spec) => this.#startEngine(spec),
      engineReports: () => engineReports(this.#hasProgram),
      hardwareReport: () => this.#hardwareReport(),
      register: () => {
        if (!hasFrontend()) return false
        this.#register(bootId)
        return true
      },
    })
  }

  /** Whether the program of the engine is installed. */
  setProgram(hasProgram: boolean): void {
    this.#hasProgram = hasProgram
    this.worker?.tell()
  }

  #endWorker(): void {
    if (!this.worker) return
    this.#seq = this.worker.seq + this.#deps.ground.random.between(0, MOST_SKIPPED)
    this.worker.kill()
    this.worker = undefined
  }

  #startEngine(spec: ConstructorParameters<typeof SimEngine>[0]): SimEngine {
    const { queue, random, engines, counts, trace, happened } = this.#deps.ground
    const { hardware } = this
    const engine = new SimEngine(spec, {
      queue,
      random,
      engines,
      counts,
      memory: this.#memory,
      takes: takenBy(spec, hardware, engines),
      grows: engineKinds[spec.engine as keyof typeof engineKinds].memory === 'on_demand',
      tellsApart: hardware.tellsApart,
      onOutOfMemory: (starved) => happened.outOfMemory.push({ machine: this, engine: starved }),
      isBroken: (modelName) => !this.#hasProgram || this.brokenModels.has(modelName),
      onEnd: (ended) => {
        this.engines.delete(ended)
        this.version += 1
      },
      say: (what) => trace.add(this.id, what),
    })
    this.engines.add(engine)
    this.version += 1
    return engine
  }

  #hardwareReport(): ReportedHardware {
    const { random } = this.#deps.ground
    const { devices, totalRam, totalDisk } = this.hardware
    const freeRam = this.#memory.freeRam()
    return {
      gpu_vendor: devices.length > 0 ? 'nvidia' : null,
      devices: devices.map(({ index, name, totalVram, unified }) => ({
        index,
        uuid: `${this.id}-${index}`,
        name,
        total_vram: totalVram,
        available_vram: random.chance(UNREADABLE) ? null : this.#memory.freeVram(index),
        unified,
      })),
      total_ram: totalRam,
      available_ram: freeRam,
      total_disk: totalDisk,
      available_disk: totalDisk,
    }
  }

  /** As in src/control/register-node.ts: approval is decided at the first time and never again. */
  #register(bootId: string): void {
    const { ground, slots, labels, approved, onRegistered } = this.#deps
    const { store, health, queue } = ground
    const { id } = this
    const known = store.nodes.find(id)
    if (!known) {
      const unknownYet = { desired: 'active', liveness: 'offline', livenessSinceMs: queue.nowMs, engines: {} } as const
      const facts = {
        nodeType: 'backend',
        saidGoodbye: false,
        isHeard: false,
        bootId,
        maxReplicasPerModel: slots,
      } as const
      store.nodes.insert({ id, name: id, address: id, approved, labels, ...unknownYet, ...facts, ...NOT_SAID })
    } else {
      if (known.bootId !== bootId) store.deleteReplicasOfOldBoot(id)
      store.nodes.change(id, { bootId })
    }
    health.disturbNode(id, queue.nowMs + HEARTBEAT_PERIOD_MS)
    onRegistered()
  }
}
