import type { ReplicaStartMessage } from '../src/api/bus/messages.ts'
import { defaultTiming } from '../src/engines/sim/timing.ts'
import type { SimEngine } from './engine.ts'
import type { Ground } from './ground.ts'
import { DRAIN_MS } from './limits.ts'
import type { Breakage } from './parts.ts'

export interface ReplicaDeps extends Pick<Ground, 'queue' | 'random'> {
  broken: ReadonlySet<Breakage>
  startEngine: (spec: ReplicaStartMessage) => SimEngine
  /** Something that a heartbeat should tell has changed. */
  onChange: () => void
  onGone?: (replica: SimReplica) => void
}

/** How a request at the engine ended. */
export type Answer = 'served' | 'broken off' | 'unreachable'

/** Of the starts that have to fetch the model's files first, and how long it takes at most. */
const STAGED = 0.3
const MOST_STAGING_MS = 10_000

/** One replica as one run of a worker sees it; see src/worker/replica.ts. */
export class SimReplica {
  readonly spec: ReplicaStartMessage
  readonly key: string
  state: 'staging' | 'loading' | 'ready' | 'draining' | 'stopping' | 'failed' = 'loading'
  error: string | undefined
  outOfMemory = false
  readonly #deps: ReplicaDeps
  readonly #requests = new Map<(answer: Answer) => void, number>()
  #engine: SimEngine | undefined
  #begun = false
  #usedMs: number | null = null
  #isAbandoned = false

  constructor(spec: ReplicaStartMessage, key: string, deps: ReplicaDeps) {
    this.spec = spec
    this.key = key
    this.#deps = deps
  }

  get inFlight(): number {
    return this.#requests.size
  }

  /** Since its last request ended; null when this worker has seen none. */
  get idleMs(): number | null {
    if (this.inFlight > 0) return 0
    return this.#usedMs === null ? null : this.#deps.queue.nowMs - this.#usedMs
  }

  get measured(): SimEngine['measured'] {
    return this.#engine?.measured ?? null
  }

  get hasProcess(): boolean {
    return this.#engine !== undefined && this.#engine.state !== 'gone'
  }

  isWaiting(): boolean {
    return !this.#begun
  }

  /** Its turn has come: its files are fetched and the engine starts, or, if it was stopped meanwhile, nothing does. */
  begin(): void {
    this.#begun = true
    if (this.state === 'stopping') return this.#gone()
    const { queue, random, startEngine } = this.#deps
    const start = (): void => this.keep(startEngine(this.spec))
    if (!random.chance(STAGED)) return start()
    this.state = 'staging'
    queue.after(random.between(100, MOST_STAGING_MS), () => {
      if (this.state !== 'staging' || this.#isAbandoned) return
      start()
      this.#deps.onChange()
    })
  }

  /** Of an engine that was just started, or that an earlier worker left behind. */
  keep(engine: SimEngine): void {
    this.#begun = true
    this.#engine = engine
    this.state = engine.state === 'ready' ? 'ready' : 'loading'
    engine.keeper = { onReady: () => this.#onReady(), onExit: (...how) => this.#onExit(...how) }
  }

  /** Takes no new requests, lets the running ones finish, ends the engine. */
  stop(): void {
    if (this.#begun && this.inFlight === 0) return this.#end()
    this.state = this.#begun ? 'draining' : 'stopping'
    this.#deps.onChange()
    if (this.#begun) this.#deps.queue.after(DRAIN_MS, () => this.#end())
  }

  /** The worker dies: its connections break, and nobody looks after the engine. */
  abandon(): void {
    this.#isAbandoned = true
    if (this.#engine) this.#engine.keeper = undefined
    this.#endRequests()
  }

  /** Serves one request for so long; `answer` is called once. */
  serve(durationMs: number, answer: (answer: Answer) => void): void {
    this.#requests.set(answer, this.#deps.queue.nowMs)
    this.#deps.queue.after(durationMs, () => {
      if (!this.#requests.delete(answer)) return
      this.#usedMs = this.#deps.queue.nowMs
      answer('served')
      if (this.state === 'draining' && this.inFlight === 0) this.#end()
    })
  }

  #onReady(): void {
    if (this.state !== 'loading') return
    this.state = 'ready'
    this.#deps.onChange()
  }

  #onExit(error: string, outOfMemory: boolean): void {
    this.#endRequests()
    if (this.state === 'stopping') return this.#gone()
    if (this.state === 'draining') return this.#end()
    if (!this.#deps.broken.has('exits go unnoticed')) {
      this.state = 'failed'
      this.error = error
      this.outOfMemory = outOfMemory
    }
    this.#deps.onChange()
  }

  #end(): void {
    if (this.state === 'stopping' || this.#isAbandoned) return
    this.state = 'stopping'
    if (!this.hasProcess) return this.#gone()
    this.#deps.onChange()
    this.#engine!.terminate()
  }

  /** Before the first byte the gateway may ask another replica; after it the client gets an honest error. */
  #endRequests(): void {
    const { nowMs } = this.#deps.queue
    for (const [answer, beganMs] of this.#requests) {
      this.#requests.delete(answer)
      answer(nowMs - beganMs < defaultTiming.ttftMs ? 'unreachable' : 'broken off')
    }
  }

  #gone(): void {
    this.#deps.onGone?.(this)
  }
}
