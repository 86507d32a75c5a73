import type {
  ReplicaStartMessage,
  ReplicaStopMessage,
  ReplicaStoppedMessage,
  ReportedReplicaMessage,
} from '../../api/bus/messages.ts'
import { replicaKey } from '../../core/lib/replica-key.ts'
import { sleep } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import { adopt } from './adopt.ts'
import type { ReplicaDeps } from './launch.ts'
import { WorkerReplica } from './replica.ts'
import { replicasMeant } from './stop-target.ts'

/** For how many keys the newest generation is remembered; the oldest are forgotten first. */
const MOST_KEYS = 10_000
/** How much longer than draining and its own stop time an engine may take before it counts as a survivor. */
const SURVIVOR_SLACK_MS = 5000
const LEAVE_POLL_MS = 50

/**
 * Owns every replica of this node. Commands are idempotent by replica id and fenced by generation: a late or repeated
 * command never harms a newer replica. The work of one key (`<model>#<index>`) runs in order, different keys in
 * parallel.
 */
export class Supervisor {
  readonly #deps: ReplicaDeps
  readonly #replicas = new Map<string, WorkerReplica>()
  readonly #work = new Map<string, Promise<void>>()
  readonly #leaving = new Map<WorkerReplica, Promise<void>>()
  readonly #newest = new Map<string, number>()
  #isEnding = false

  constructor(deps: ReplicaDeps) {
    this.#deps = deps
  }

  /** Adopts what an earlier run of the worker left running, and stops what it cannot identify. */
  async adopt({ isClean }: { isClean: boolean }): Promise<void> {
    for (const { entry, launched } of await adopt(this.#deps, { isClean })) {
      const replica = new WorkerReplica(entry.spec, entry.profile, this.#deps)
      const others = this.all().filter(({ key }) => key === replica.key)
      this.#add(replica)
      const adopted = replica.adopt(entry, launched)
      void this.#then(replica.key, () => adopted)
      for (const other of others) void this.#stop(other, false)
    }
  }

  /** Accepts a start; the following reports show how it goes. */
  start(spec: ReplicaStartMessage): void {
    if (this.#replicas.has(spec.id)) return
    // Like an unanswered command: control asks again until this node has said goodbye, and then chooses another node.
    if (this.#isEnding) throw new AppError('unavailable', 'This node is stopping.')
    const profile = this.#deps.engines.find(spec.engine)
    if (!profile) throw new AppError('bad_request', `This node has no engine "${spec.engine}".`)
    const key = replicaKey(spec.model_name, spec.replica_index)
    if ((this.#newest.get(key) ?? -1) >= spec.generation) {
      throw new AppError('conflict', `${key} is or was held by a replica that is newer than the one to start.`)
    }
    const others = this.all().filter((replica) => replica.key === key)
    const replica = new WorkerReplica(spec, profile, this.#deps)
    this.#add(replica)
    for (const other of others) void this.#stop(other, false)
    void this.#then(key, async () => {
      if (!replica.isEnding) await replica.start()
    })
    this.#deps.onChange()
  }

  /** Stops exactly what is named. Resolves when all of it is gone, or when the waiting time is over. */
  async stop({ target, force, wait_ms: waitMs }: ReplicaStopMessage): Promise<ReplicaStoppedMessage> {
    const meant = replicasMeant(target, this.#replicas.values())
    await this.#stopMany(meant, force, waitMs)
    return {
      replicas: meant.map(({ key, spec: { id, generation } }) => ({
        id,
        generation,
        key,
        gone: !this.#replicas.has(id),
      })),
    }
  }

  /** Stops every replica of an engine; one that is still there after all its time is a survivor. */
  async stopEngine(engine: string): Promise<{ stopped: string[]; survivors: string[] }> {
    const meant = this.all().filter(({ spec }) => spec.engine === engine)
    const { kill_after_s: killAfterS = 0 } = this.#deps.engines.find(engine)?.stop ?? {}
    await this.#stopMany(meant, false, this.#deps.limits.drainMs + killAfterS * 1000 + SURVIVOR_SLACK_MS)
    const survivors = meant.filter(({ spec }) => this.#replicas.has(spec.id))
    const gone = meant.filter((replica) => !survivors.includes(replica))
    return { stopped: gone.map(({ key }) => key), survivors: survivors.map(({ key }) => key) }
  }

  /** Stops everything that is here now: replicas that are asked for later are started. */
  stopPresent(): void {
    for (const replica of this.#replicas.values()) void this.#stop(replica, false)
  }

  /** Stops everything for good: nothing is started after it. */
  async stopAll(): Promise<void> {
    this.#isEnding = true
    for (const replica of this.#replicas.values()) void this.#stop(replica, false)
    await Promise.all(this.#work.values())
  }

  /** Leaves the engines to the next worker: nothing is started, requests finish, and engines keep running. */
  async leave(): Promise<void> {
    this.#isEnding = true
    const { clock, limits } = this.#deps
    const untilMs = clock.nowMs() + limits.drainMs
    const isServing = (): boolean => this.all().some(({ inFlight }) => inFlight > 0)
    while (isServing() && clock.nowMs() < untilMs) await sleep(clock, LEAVE_POLL_MS)
  }

  find(id: string): WorkerReplica | undefined {
    return this.#replicas.get(id)
  }

  /** Whether any replica of a model is here, in any state. */
  hasModel(modelName: string): boolean {
    return this.all().some(({ spec }) => spec.model_name === modelName)
  }

  report(): ReportedReplicaMessage[] {
    return this.all().map(({ spec, state, inFlight, progress, error, exit, memory, idleMs, outOfMemory }) => ({
      id: spec.id,
      model_name: spec.model_name,
      replica_index: spec.replica_index,
      generation: spec.generation,
      state,
      in_flight: inFlight,
      progress,
      error,
      exit,
      memory,
      idle_ms: idleMs,
      out_of_memory: outOfMemory,
    }))
  }

  all(): WorkerReplica[] {
    return [...this.#replicas.values()]
  }

  #add(replica: WorkerReplica): void {
    const { key, spec } = replica
    this.#replicas.set(spec.id, replica)
    this.#newest.delete(key)
    this.#newest.set(key, spec.generation)
    if (this.#newest.size > MOST_KEYS) this.#newest.delete(this.#newest.keys().next().value!)
  }

  async #stopMany(replicas: readonly WorkerReplica[], force: boolean, waitMs: number): Promise<void> {
    const gone = Promise.all(replicas.map((replica) => this.#stop(replica, force)))
    if (waitMs === 0 || replicas.length === 0) return
    const enough = new AbortController()
    await Promise.race([gone, sleep(this.#deps.clock, waitMs, enough.signal)])
    enough.abort()
  }

  /** Stopping begins at once, even while the start still waits; the key's next work waits until the replica is gone. */
  #stop(replica: WorkerReplica, force: boolean): Promise<void> {
    const stopped = replica.stop({ force })
    const leaving =
      this.#leaving.get(replica) ??
      this.#then(replica.key, async () => {
        await stopped
        this.#replicas.delete(replica.spec.id)
        this.#leaving.delete(replica)
        this.#deps.onChange()
      })
    if (this.#replicas.has(replica.spec.id)) this.#leaving.set(replica, leaving)
    return leaving
  }

  #then(key: string, work: () => Promise<void>): Promise<void> {
    const next = (this.#work.get(key) ?? Promise.resolve()).then(work)
    this.#work.set(key, next)
    void next.then(() => this.#work.get(key) === next && this.#work.delete(key))
    return next
  }
}
