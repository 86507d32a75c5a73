import type { ReplicaStartMessage, ReportedReplicaMessage } from '../src/api/bus/messages.ts'
import { replicaKey } from '../src/core/lib/replica-key.ts'
import { isEnding } from '../src/core/lifecycle/states.ts'
import type { SimEngine } from './engine.ts'
import { SimReplica, type ReplicaDeps } from './replica.ts'

/**
 * Owns every replica of one worker, under the rules of src/worker/supervisor.ts: commands are idempotent by
 * replica id and fenced by generation; the replicas of one key take turns, different keys go on side by side.
 */
export class Supervisor {
  readonly #deps: ReplicaDeps
  readonly #replicas = new Map<string, SimReplica>()

  constructor(deps: ReplicaDeps) {
    this.#deps = { ...deps, onGone: (replica) => this.#remove(replica) }
  }

  /** False when the key is held by a replica that is newer. */
  start(spec: ReplicaStartMessage): boolean {
    if (this.#replicas.has(spec.id)) return true
    const key = replicaKey(spec.model_name, spec.replica_index)
    const others = [...this.#replicas.values()].filter((replica) => replica.key === key)
    if (others.some((other) => other.spec.generation >= spec.generation)) return false
    this.#replicas.set(spec.id, new SimReplica(spec, key, this.#deps))
    for (const other of others) this.#stop(other)
    this.#startNext(key)
    this.#deps.onChange()
    return true
  }

  /** Takes over an engine that an earlier run of the worker has started. */
  adopt(engine: SimEngine): void {
    const { spec } = engine
    const replica = new SimReplica(spec, replicaKey(spec.model_name, spec.replica_index), this.#deps)
    this.#replicas.set(spec.id, replica)
    replica.keep(engine)
  }

  /** Stops exactly the named replica. One that is not here, or of another generation, is left alone. */
  stop(id: string, generation: number): void {
    const replica = this.#replicas.get(id)
    if (replica?.spec.generation !== generation || this.#deps.broken.has('stop does nothing')) return
    this.#stop(replica)
  }

  find(id: string): SimReplica | undefined {
    return this.#replicas.get(id)
  }

  all(): Iterable<SimReplica> {
    return this.#replicas.values()
  }

  report(): ReportedReplicaMessage[] {
    return [...this.#replicas.values()].map((replica) => this.#report(replica))
  }

  #report({ spec, state, inFlight, error, measured, idleMs, outOfMemory }: SimReplica): ReportedReplicaMessage {
    return {
      id: spec.id,
      model_name: spec.model_name,
      replica_index: spec.replica_index,
      generation: spec.generation,
      state,
      in_flight: inFlight,
      progress: null,
      error,
      exit: null,
      memory: measured && { devices: measured.devices && [...measured.devices], ram: measured.ram },
      idle_ms: idleMs,
      out_of_memory: outOfMemory,
    }
  }

  #stop(replica: SimReplica): void {
    if (isEnding(replica.state)) return
    replica.stop()
    // One that waits for its turn leaves when its turn comes.
    this.#startNext(replica.key)
  }

  #remove(replica: SimReplica): void {
    this.#replicas.delete(replica.spec.id)
    this.#startNext(replica.key)
    this.#deps.onChange()
  }

  /** The first of the key's queue: starts if it is wanted, leaves if it was stopped before it began. */
  #startNext(key: string): void {
    for (const replica of this.#replicas.values()) {
      if (replica.key !== key) continue
      if (replica.isWaiting()) replica.begin()
      if (this.#replicas.has(replica.spec.id) && !this.#deps.broken.has('keys are not in order')) return
    }
  }
}
