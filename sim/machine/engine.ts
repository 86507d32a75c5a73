import type { ReplicaStartMessage } from '../../src/api/bus/messages.ts'
import type { EventQueue } from '../event-queue.ts'
import type { MachineMemory, Taken } from '../machine-memory.ts'
import type { Random } from '../random.ts'

export interface EngineDeps {
  queue: EventQueue
  random: Random
  memory: MachineMemory
  chances: EngineChances
  /** What it takes when it is all there, and whether the last part of it only comes with requests. */
  takes: Taken
  grows: boolean
  /** True while the engine of this model cannot start on this machine. */
  isBroken: (modelName: string) => boolean
  onOutOfMemory: (engine: SimEngine) => void
  /** The process is no longer there. */
  onEnd: (engine: SimEngine) => void
}

/** How engines behave in this run. */
export interface EngineChances {
  failure: number
  meanLifeMs: number
  mostLoadMs: number
  isHonest: boolean
}

/** Who is told what happens to an engine: a replica of the worker that runs now. */
export interface Keeper {
  onLine: (text: string) => void
  onExit: (code: number | null, signal: NodeJS.Signals | null) => void
}

/** A request that an engine works on. */
export interface EngineCall {
  onBroken: () => void
}

const MOST_GROWING_MS = 60_000
const MOST_LAST_WORDS_MS = 3000

/** An engine process, which is only a state and a few events. It outlives the worker that started it, not its machine. */
export class SimEngine {
  readonly pid: number
  readonly port: number
  readonly spec: ReplicaStartMessage
  readonly startedMs: number
  readonly calls = new Set<EngineCall>()
  state: 'loading' | 'ready' | 'gone' = 'loading'
  /** It stands still: neither answers nor listens to SIGTERM. */
  isFrozen = false
  /** A worker has told it to end. */
  isToldToEnd = false
  keeper: Keeper | undefined
  readonly #deps: EngineDeps
  #held: (() => void)[] = []

  constructor(pid: number, port: number, spec: ReplicaStartMessage, deps: EngineDeps) {
    this.pid = pid
    this.port = port
    this.spec = spec
    this.#deps = deps
    const { queue, random, chances, isBroken, takes, grows } = deps
    this.startedMs = queue.nowMs
    const willFail = random.chance(chances.failure) || isBroken(spec.model_name)
    const loadMs = random.between(200, chances.mostLoadMs)
    this.#after(random.between(0, loadMs), 'loading', () => this.#take(grows ? half(takes) : takes))
    this.#after(loadMs, 'loading', () => {
      if (willFail) this.#exit(1, null)
      else this.#becomeReady()
    })
  }

  get takes(): Taken {
    return this.#deps.takes
  }

  get isServing(): boolean {
    return this.state === 'ready' && !this.isFrozen
  }

  terminate(): void {
    if (this.isFrozen || this.isToldToEnd) return
    this.isToldToEnd = true
    const { queue, random } = this.#deps
    queue.after(random.between(10, MOST_LAST_WORDS_MS), () => this.#exit(null, 'SIGTERM'))
  }

  kill(): void {
    this.#exit(null, 'SIGKILL')
  }

  crash(): void {
    this.#exit(139, null)
  }

  freeze(): void {
    this.isFrozen = true
  }

  thaw(): void {
    this.isFrozen = false
    const held = this.#held
    this.#held = []
    for (const work of held) work()
  }

  /** Its machine dies, and nobody is left to tell. */
  vanish(): void {
    this.keeper = undefined
    this.#exit(null, 'SIGKILL')
  }

  /** What an engine does in its own time it does not do while it stands still. */
  whenAwake(work: () => void): void {
    if (this.isFrozen) this.#held.push(work)
    else work()
  }

  #after(delayMs: number, state: SimEngine['state'], work: () => void): void {
    this.#deps.queue.after(delayMs, () => this.whenAwake(() => this.state === state && work()))
  }

  #becomeReady(): void {
    const { random, chances, grows, takes } = this.#deps
    this.state = 'ready'
    // In the quiet time nobody dies of old age, also not who was born before.
    if (chances.meanLifeMs < Infinity) {
      this.#after(random.waitMs(chances.meanLifeMs), 'ready', () => chances.meanLifeMs < Infinity && this.crash())
    }
    if (grows) this.#after(random.between(0, MOST_GROWING_MS), 'ready', () => this.#take(takes))
  }

  #take(wanted: Taken): void {
    if (this.#deps.memory.take(this, wanted)) return
    this.keeper?.onLine('CUDA error: out of memory')
    this.#deps.onOutOfMemory(this)
    this.#exit(1, null)
  }

  #exit(code: number | null, signal: NodeJS.Signals | null): void {
    if (this.state === 'gone') return
    this.state = 'gone'
    this.#held = []
    this.#deps.memory.release(this)
    this.#deps.onEnd(this)
    const calls = [...this.calls]
    this.calls.clear()
    for (const call of calls) call.onBroken()
    this.keeper?.onExit(code, signal)
  }
}

function half({ devices, ram }: Taken): Taken {
  return {
    devices: devices.map(({ index, bytes }) => ({ index, bytes: Math.ceil(bytes / 2) })),
    ram: Math.ceil(ram / 2),
  }
}
