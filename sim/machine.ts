import type { HeartbeatMessage } from '../src/api/bus/messages.ts'
import type { Ground } from './ground.ts'
import { HEARTBEAT_PERIOD_MS } from './limits.ts'
import { SimWorker } from './worker.ts'

export interface MachineDeps {
  ground: Ground
  slots: number
  approved: boolean
  /** True when a frontend is there to talk to. */
  hasFrontend: () => boolean
  publish: (nodeId: string, heartbeat: HeartbeatMessage) => void
  onRegistered: () => void
}

/** A machine of the cluster: keeps its identity over any number of boots, and has no worker while it is down. */
export class Machine {
  readonly id: string
  worker: SimWorker | undefined
  /** Models whose engine cannot start here for now. */
  readonly brokenModels = new Set<string>()
  /** Grows with every process that comes or goes, so that checks look only when there is something new. */
  version = 0
  readonly #deps: MachineDeps
  #boots = 0

  constructor(id: string, deps: MachineDeps) {
    this.id = id
    this.#deps = deps
  }

  boot(): void {
    const { ground, hasFrontend, publish } = this.#deps
    this.#boots += 1
    const bootId = `boot${this.#boots}`
    ground.health.disturbNode(this.id, ground.queue.nowMs + HEARTBEAT_PERIOD_MS)
    this.worker = new SimWorker({
      ...ground,
      nodeId: this.id,
      bootId,
      publish,
      isBroken: (modelName) => this.brokenModels.has(modelName),
      register: () => {
        if (!hasFrontend()) return false
        this.#register(bootId)
        return true
      },
      onProcesses: () => (this.version += 1),
    })
  }

  /** kill -9 of everything: processes gone, silence. */
  die(): void {
    const { worker } = this
    if (!worker) return
    this.worker = undefined
    this.#deps.ground.counts.nodeDeaths += 1
    worker.kill()
  }

  /** As in src/control/register-node.ts: approval is decided at the first time and never again. */
  #register(bootId: string): void {
    const { ground, slots, approved, onRegistered } = this.#deps
    const { store, health, queue } = ground
    const { id } = this
    const known = store.nodes.find(id)
    if (!known) {
      const unknownYet = { desired: 'active', liveness: 'offline', livenessSinceMs: queue.nowMs } as const
      const facts = { nodeType: 'backend', saidGoodbye: false, bootId, maxReplicasPerModel: slots } as const
      store.nodes.insert({ id, name: id, address: id, approved, ...unknownYet, ...facts })
    } else {
      if (known.bootId !== bootId) store.deleteReplicasOfOldBoot(id)
      store.nodes.change(id, { bootId })
    }
    health.disturbNode(id, queue.nowMs + HEARTBEAT_PERIOD_MS)
    onRegistered()
  }
}
