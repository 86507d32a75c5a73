import type { ReplicaStartMessage, ReplicaStopMessage, ReportedReplicaMessage } from '../api/bus/messages.ts'
import { replicaKey } from '../core/lib/replica-key.ts'
import { AppError } from '../platform/errors.ts'
import { engineNames, findEngine } from './engine-profiles.ts'
import { WorkerReplica, type ReplicaDeps } from './replica.ts'

/**
 * Owns every replica of this node. Commands are idempotent by replica id and fenced by generation; the work of one key
 * (`<model>#<index>`) is done in order, different keys go on side by side.
 */
export class Supervisor {
  readonly #deps: ReplicaDeps
  readonly #replicas = new Map<string, WorkerReplica>()
  readonly #work = new Map<string, Promise<void>>()
  #ending = false

  constructor(deps: ReplicaDeps) {
    this.#deps = deps
  }

  /** Accepts a start; what becomes of it is in the reports that follow. */
  start(spec: ReplicaStartMessage): void {
    if (this.#replicas.has(spec.id)) return
    // As if nobody had heard it: it is asked again until this node has said goodbye, and then goes elsewhere.
    if (this.#ending) throw new AppError('unavailable', 'This node is stopping.')
    const profile = findEngine(spec.engine)
    if (!profile) {
      const known = engineNames().join(', ')
      throw new AppError('bad_request', `This node has no engine "${spec.engine}". It has: ${known}.`)
    }
    const key = replicaKey(spec.model_name, spec.replica_index)
    const others = [...this.#replicas.values()].filter((replica) => replica.key === key)
    if (others.some((other) => other.spec.generation >= spec.generation)) {
      throw new AppError('conflict', `${key} is held by a replica that is newer than the one to start.`)
    }
    const replica = new WorkerReplica(spec, this.#deps)
    this.#replicas.set(spec.id, replica)
    for (const other of others) void this.#stop(other)
    void this.#then(key, async () => {
      if (replica.state === 'loading') await replica.start(profile)
    })
    this.#deps.onChange()
  }

  /** Stops exactly the named replica. A replica that is not here, or of another generation, is left alone. */
  stop({ id, generation }: ReplicaStopMessage): 'stopping' | 'unknown' {
    const replica = this.#replicas.get(id)
    if (!replica || replica.spec.generation !== generation) return 'unknown'
    if (replica.state !== 'stopping') void this.#stop(replica)
    return 'stopping'
  }

  /** For good: nothing is started after it. */
  async stopAll(): Promise<void> {
    this.#ending = true
    for (const replica of this.#replicas.values()) if (replica.state !== 'stopping') void this.#stop(replica)
    await Promise.all(this.#work.values())
  }

  find(id: string): WorkerReplica | undefined {
    return this.#replicas.get(id)
  }

  report(): ReportedReplicaMessage[] {
    return [...this.#replicas.values()].map((replica) => ({
      id: replica.spec.id,
      model_name: replica.spec.model_name,
      replica_index: replica.spec.replica_index,
      generation: replica.spec.generation,
      state: replica.state,
      in_flight: replica.inFlight,
      error: replica.error,
    }))
  }

  /** Stopping begins at once, also while the start is still waiting; the key's next work waits until it is gone. */
  #stop(replica: WorkerReplica): Promise<void> {
    const stopped = replica.stop()
    return this.#then(replica.key, async () => {
      await stopped
      this.#replicas.delete(replica.spec.id)
      this.#deps.onChange()
    })
  }

  #then(key: string, work: () => Promise<void>): Promise<void> {
    const next = (this.#work.get(key) ?? Promise.resolve()).then(work)
    this.#work.set(key, next)
    void next.then(() => this.#work.get(key) === next && this.#work.delete(key))
    return next
  }
}
