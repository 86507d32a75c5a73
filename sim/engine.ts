import type { ReplicaStartMessage } from '../src/api/bus/messages.ts'
import type { Ground } from './ground.ts'
import { KILL_AFTER_MS } from './limits.ts'

export interface EngineDeps extends Pick<Ground, 'queue' | 'random' | 'engines' | 'counts'> {
  /** True while the engine of this model cannot start on this machine. */
  isBroken: (modelName: string) => boolean
  /** The process is no longer there. */
  onEnd: (engine: SimEngine) => void
  say: (what: string) => void
}

/** Who is told what happens to an engine: a replica of the worker that runs now. */
export interface Keeper {
  onReady: () => void
  onExit: (error: string) => void
}

const MOST_LOAD_MS = 20_000

/** An engine process, which is only a state and a few events. It outlives the worker that started it, not its machine. */
export class SimEngine {
  readonly spec: ReplicaStartMessage
  state: 'loading' | 'ready' | 'gone' = 'loading'
  /** Nobody while there is no worker. */
  keeper: Keeper | undefined
  readonly #deps: EngineDeps

  constructor(spec: ReplicaStartMessage, deps: EngineDeps) {
    this.spec = spec
    this.#deps = deps
    const { queue, random, engines, counts, isBroken } = deps
    counts.starts += 1
    const willFail = random.chance(engines.failureChance) || isBroken(spec.model_name)
    queue.after(random.between(200, MOST_LOAD_MS), () => {
      if (this.state !== 'loading') return
      if (!willFail) return this.#becomeReady()
      counts.failedStarts += 1
      this.#exit('it did not start')
    })
  }

  /** SIGTERM, and SIGKILL if it does not listen. */
  terminate(): void {
    const { queue, random } = this.#deps
    queue.after(random.between(10, KILL_AFTER_MS), () => this.#exit('it was told to'))
  }

  crash(): void {
    this.#deps.counts.crashes += 1
    this.#exit('it crashed')
  }

  /** Its machine dies, and nobody is left to tell. */
  vanish(): void {
    this.keeper = undefined
    this.#exit('its machine died')
  }

  #becomeReady(): void {
    const { queue, random, engines, say } = this.#deps
    this.state = 'ready'
    say(`the engine of ${this.spec.id} serves`)
    this.keeper?.onReady()
    // In the quiet time nobody dies of old age, also not who was born before.
    const diesOfAge = (): boolean => this.state === 'ready' && engines.meanLifeMs < Infinity
    if (diesOfAge()) queue.after(random.waitMs(engines.meanLifeMs), () => diesOfAge() && this.crash())
  }

  #exit(why: string): void {
    if (this.state === 'gone') return
    this.state = 'gone'
    this.#deps.say(`the engine of ${this.spec.id} is gone: ${why}`)
    this.#deps.onEnd(this)
    this.keeper?.onExit(why)
  }
}
