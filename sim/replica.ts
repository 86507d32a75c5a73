import type { ReplicaStartMessage } from '../src/api/bus/messages.ts'
import { defaultTiming } from '../src/engines/sim/timing.ts'
import type { Ground } from './ground.ts'
import { DRAIN_MS, KILL_AFTER_MS } from './limits.ts'
import type { Breakage } from './parts.ts'

export interface ReplicaDeps extends Pick<Ground, 'queue' | 'random' | 'engines' | 'counts'> {
  broken: ReadonlySet<Breakage>
  /** True while the engine of this model cannot start on this node. */
  isBroken: (modelName: string) => boolean
  /** Something that a heartbeat should tell has changed, or a process has come or gone. */
  onChange: () => void
  onGone?: (replica: SimReplica) => void
  say: (what: string) => void
}

/** How a request at the engine ended. */
export type Answer = 'served' | 'broken off' | 'unreachable'

const MOST_LOAD_MS = 20_000

/** One replica on one node, with an engine process that is only a flag and a few events; see src/worker/replica.ts. */
export class SimReplica {
  readonly spec: ReplicaStartMessage
  readonly key: string
  state: 'loading' | 'ready' | 'stopping' | 'failed' = 'loading'
  error: string | undefined
  hasProcess = false
  readonly #deps: ReplicaDeps
  readonly #requests = new Map<(answer: Answer) => void, number>()
  #begun = false
  #ending = false
  #isDead = false

  constructor(spec: ReplicaStartMessage, key: string, deps: ReplicaDeps) {
    this.spec = spec
    this.key = key
    this.#deps = deps
  }

  get inFlight(): number {
    return this.#requests.size
  }

  isWaiting(): boolean {
    return !this.#begun
  }

  /** Its turn has come: the engine starts, or, if it was stopped meanwhile, nothing does. */
  begin(): void {
    this.#begun = true
    if (this.state === 'stopping') return this.#gone()
    const { queue, random, engines, counts, isBroken } = this.#deps
    this.hasProcess = true
    counts.starts += 1
    const willFail = random.chance(engines.failureChance) || isBroken(this.spec.model_name)
    queue.after(random.between(200, MOST_LOAD_MS), () => {
      if (this.state !== 'loading' || !this.hasProcess) return
      if (willFail) {
        counts.failedStarts += 1
        this.#exit('it did not start')
      } else this.#becomeReady()
    })
  }

  /** Takes no new requests, lets the running ones finish, ends the engine. */
  stop(): void {
    this.state = 'stopping'
    this.#deps.onChange()
    if (!this.#begun) return
    if (this.inFlight === 0) this.#end()
    else this.#deps.queue.after(DRAIN_MS, () => this.#end())
  }

  /** The engine dies by itself. */
  crash(): void {
    if (!this.hasProcess) return
    this.#deps.counts.crashes += 1
    this.#exit('it crashed')
  }

  /** The node dies: everything is gone at once, and nobody is left to tell. */
  vanish(): void {
    this.hasProcess = false
    this.#isDead = true
    this.#endRequests()
  }

  /** Serves one request for so long; `answer` is called once. */
  serve(durationMs: number, answer: (answer: Answer) => void): void {
    this.#requests.set(answer, this.#deps.queue.nowMs)
    this.#deps.queue.after(durationMs, () => {
      if (!this.#requests.delete(answer)) return
      answer('served')
      if (this.state === 'stopping' && this.inFlight === 0) this.#end()
    })
  }

  #becomeReady(): void {
    const { queue, random, engines, onChange, say } = this.#deps
    this.state = 'ready'
    say(`${this.key} (${this.spec.id}) is ready`)
    onChange()
    // In the quiet time nobody dies of old age, also not who was born before.
    const diesOfAge = (): boolean => this.state === 'ready' && engines.meanLifeMs < Infinity
    if (diesOfAge()) queue.after(random.waitMs(engines.meanLifeMs), () => diesOfAge() && this.crash())
  }

  #exit(error: string): void {
    this.hasProcess = false
    this.#deps.say(`the engine of ${this.key} (${this.spec.id}) is gone: ${error}`)
    if (this.state !== 'stopping' && !this.#deps.broken.has('exits go unnoticed')) {
      this.state = 'failed'
      this.error = error
    }
    this.#endRequests()
    this.#deps.onChange()
  }

  #end(): void {
    if (this.#ending || this.#isDead) return
    this.#ending = true
    if (!this.hasProcess) return this.#gone()
    this.#deps.queue.after(this.#deps.random.between(10, KILL_AFTER_MS), () => {
      if (this.#isDead) return
      this.hasProcess = false
      this.#endRequests()
      this.#gone()
    })
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
