import type { Hardware } from '../src/api/hardware.ts'
import type { HeartbeatMessage, ReplicaStartMessage, ReportedEngineMessage } from '../src/api/bus/messages.ts'
import type { SimEngine } from './engine.ts'
import type { Ground } from './ground.ts'
import { HEARTBEAT_PERIOD_MS } from './limits.ts'
import { Supervisor } from './supervisor.ts'

export interface WorkerDeps extends Ground {
  nodeId: string
  bootId: string
  /** Engines that an earlier run of the worker has left behind, and how far it had counted its heartbeats. */
  found: readonly SimEngine[]
  seq: number
  startEngine: (spec: ReplicaStartMessage) => SimEngine
  /** The engines of the machine, as heartbeats tell of them. */
  engineReports: () => ReportedEngineMessage[]
  /** What it has, and what of it is free. */
  hardwareReport: () => Hardware
  /** Registers at a frontend; false when none answers. */
  register: () => boolean
  publish: (nodeId: string, heartbeat: HeartbeatMessage) => void
}

const REGISTER_AGAIN_MS = 2000

/** One run of a worker: registers, then tells what it runs and does as it is told. It ends by being killed. */
export class SimWorker {
  readonly supervisor: Supervisor
  isJoined = false
  readonly #deps: WorkerDeps
  #isAlive = true
  #seq: number
  #beat = 0

  constructor(deps: WorkerDeps) {
    this.#deps = deps
    this.#seq = deps.seq
    const { parts, queue, random, startEngine } = deps
    this.supervisor = new Supervisor({
      queue,
      random,
      startEngine,
      broken: parts.broken,
      onChange: () => this.tell(),
    })
    for (const engine of deps.found) this.supervisor.adopt(engine)
    this.#join()
  }

  kill(): void {
    this.#isAlive = false
    for (const replica of this.supervisor.all()) replica.abandon()
  }

  /** How far it has counted its heartbeats; kept on disk. */
  get seq(): number {
    return this.#seq
  }

  /** Something is other than the last heartbeat said. */
  tell(): void {
    this.#beatAfter(0)
  }

  /** Replies when it accepts or refuses; silent while it is not on the bus. */
  obeyStart(spec: ReplicaStartMessage, reply: (answer: { knownFromSeq: number } | 'conflict') => void): void {
    if (!this.#isAlive || !this.isJoined) return
    const accepted = this.supervisor.start(spec)
    reply(accepted ? { knownFromSeq: this.#seq + 1 } : 'conflict')
  }

  obeyStop(id: string, generation: number, reply: () => void): void {
    if (!this.#isAlive || !this.isJoined) return
    this.supervisor.stop(id, generation)
    reply()
  }

  #join(): void {
    const { queue, random, trace, nodeId, bootId, register } = this.#deps
    if (!this.#isAlive) return
    if (!register()) return queue.after(REGISTER_AGAIN_MS, () => this.#join())
    trace.add(nodeId, `registered as ${bootId}`)
    queue.after(random.between(20, 300), () => {
      this.isJoined = true
      this.#beatAfter(0)
    })
  }

  /** The next heartbeat: at once after a change, else when the period is over. Only the last one asked for is sent. */
  #beatAfter(delayMs: number): void {
    this.#beat += 1
    const beat = this.#beat
    this.#deps.queue.after(delayMs, () => {
      if (!this.#isAlive || !this.isJoined || beat !== this.#beat) return
      this.#seq += 1
      const replicas = this.supervisor.report()
      const { nodeId, bootId, counts, publish, engineReports, hardwareReport } = this.#deps
      counts.heartbeats += 1
      publish(nodeId, { boot_id: bootId, seq: this.#seq, replicas, engines: engineReports(), ...hardwareReport() })
      this.#beatAfter(HEARTBEAT_PERIOD_MS)
    })
  }
}
