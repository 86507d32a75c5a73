import type { ReplicaStartMessage } from '../src/api/bus/messages.ts'
import type { Measured } from '../src/core/types.ts'
import type { Ground } from './ground.ts'
import { KILL_AFTER_MS } from './limits.ts'
import type { MachineMemory, Taken } from './machine-memory.ts'

export interface EngineDeps extends Pick<Ground, 'queue' | 'random' | 'engines' | 'counts'> {
  memory: MachineMemory
  /** What it takes when it is all there, and whether the last part of it only comes with requests. */
  takes: Taken
  grows: boolean
  /** VRAM can be told apart by process here. */
  tellsApart: boolean
  /** True while the engine of this model cannot start on this machine. */
  isBroken: (modelName: string) => boolean
  /** It wants more than there is. */
  onOutOfMemory: (engine: SimEngine) => void
  /** The process is no longer there. */
  onEnd: (engine: SimEngine) => void
  say: (what: string) => void
}

/** Who is told what happens to an engine: a replica of the worker that runs now. */
export interface Keeper {
  onReady: () => void
  onExit: (error: string, outOfMemory: boolean) => void
}

const MOST_LOAD_MS = 20_000
const MOST_GROWING_MS = 60_000
/** From what it takes to what its worker knows of it. */
const MOST_MEASURING_MS = 12_000

/** An engine process, which is only a state and a few events. It outlives the worker that started it, not its machine. */
export class SimEngine {
  readonly spec: ReplicaStartMessage
  state: 'loading' | 'ready' | 'gone' = 'loading'
  /** Nobody while there is no worker. */
  keeper: Keeper | undefined
  readonly #deps: EngineDeps
  #measured: Measured | null = null

  constructor(spec: ReplicaStartMessage, deps: EngineDeps) {
    this.spec = spec
    this.#deps = deps
    const { queue, random, engines, counts, isBroken, takes, grows } = deps
    counts.starts += 1
    const willFail = random.chance(engines.failureChance) || isBroken(spec.model_name)
    const loadMs = random.between(200, MOST_LOAD_MS)
    queue.after(random.between(0, loadMs), () => this.state === 'loading' && this.#take(grows ? half(takes) : takes))
    queue.after(loadMs, () => {
      if (this.state !== 'loading') return
      if (!willFail) return this.#becomeReady()
      counts.failedStarts += 1
      this.#exit('it did not start')
    })
  }

  get takes(): Taken {
    return this.#deps.takes
  }

  /** The most it was seen to take; null while nobody has looked. */
  get measured(): Measured | null {
    return this.#measured
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
    const { queue, random, engines, say, grows, takes } = this.#deps
    this.state = 'ready'
    say(`the engine of ${this.spec.id} serves`)
    this.keeper?.onReady()
    // In the quiet time nobody dies of old age, also not who was born before.
    const diesOfAge = (): boolean => this.state === 'ready' && engines.meanLifeMs < Infinity
    if (diesOfAge()) queue.after(random.waitMs(engines.meanLifeMs), () => diesOfAge() && this.crash())
    if (grows) queue.after(random.between(0, MOST_GROWING_MS), () => this.state === 'ready' && this.#take(takes))
  }

  #take(wanted: Taken): void {
    const { memory, queue, random, counts, tellsApart, onOutOfMemory } = this.#deps
    if (!memory.take(this, wanted)) {
      counts.outOfMemory += 1
      onOutOfMemory(this)
      return this.#exit('it ran out of memory', true)
    }
    const seen = { devices: tellsApart ? wanted.devices : null, ram: wanted.ram }
    queue.after(random.between(0, MOST_MEASURING_MS), () => {
      this.#measured = seen
    })
  }

  #exit(why: string, outOfMemory = false): void {
    if (this.state === 'gone') return
    this.state = 'gone'
    this.#deps.memory.release(this)
    this.#deps.say(`the engine of ${this.spec.id} is gone: ${why}`)
    this.#deps.onEnd(this)
    this.keeper?.onExit(why, outOfMemory)
  }
}

function half({ devices, ram }: Taken): Taken {
  return {
    devices: devices.map(({ index, bytes }) => ({ index, bytes: Math.ceil(bytes / 2) })),
    ram: Math.ceil(ram / 2),
  }
}
