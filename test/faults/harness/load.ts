import { ask, type Ending, type Kind } from './ask.ts'
import type { Member } from './member.ts'
import { pause } from './until.ts'

/** One request that has ended. */
export interface Entry extends Ending {
  gateway: string
  model: string
  isStream: boolean
  startedMs: number
  endedMs: number
}

export interface LoadOptions {
  gateways: readonly Member[]
  models: readonly string[]
  /** A request that has not ended by then never will. */
  hungAfterMs: number
}

/** For each gateway: some that come often, one that is in the middle of an answer most of the time, one that is not streamed. */
const SHAPES = [
  { isStream: true, tokens: 8 },
  { isStream: true, tokens: 12 },
  { isStream: true, tokens: 100 },
  { isStream: false, tokens: 8 },
]
const REST_MS = 40
/** Who found nobody at a gateway stays away from it for so long, as a load balancer does. */
const AVOID_MS = 300

/** Constant load over all gateways until it is disposed of. */
export class Load {
  readonly entries: Entry[] = []
  /** When a gateway last began to answer from a node: `gateway model node`. */
  readonly lastUsedMs = new Map<string, number>()
  readonly #options: LoadOptions
  readonly #avoid = new Map<string, number>()
  /** When the requests under way began. */
  readonly #underWay = new Set<{ startedMs: number }>()
  #count = 0
  #isOver = false
  #resumed = Promise.withResolvers<void>()
  #loops: Promise<void>[] = []

  constructor(options: LoadOptions) {
    this.#options = options
    this.#resumed.resolve()
  }

  start(): void {
    const { gateways, models } = this.#options
    this.#loops = gateways.flatMap((home) => SHAPES.map((shape, index) => this.#run(home, models, index, shape)))
  }

  get inFlight(): number {
    return this.#underWay.size
  }

  /** Resolves when every request has ended that had begun before `ms`. */
  async settled(ms: number): Promise<void> {
    while ([...this.#underWay].some(({ startedMs }) => startedMs < ms)) await pause(20)
  }

  /** No new requests; resolves when the last one has ended. */
  async pause(): Promise<void> {
    this.#resumed = Promise.withResolvers<void>()
    await this.settled(Number.POSITIVE_INFINITY)
  }

  resume(): void {
    this.#resumed.resolve()
  }

  /** What has ended so far does not count any more. */
  forget(): void {
    this.entries.length = 0
  }

  /** No new requests, ever. */
  stop(): void {
    this.#isOver = true
    this.resume()
  }

  async dispose(): Promise<void> {
    this.stop()
    await Promise.all(this.#loops)
  }

  async #run(home: Member, models: readonly string[], first: number, shape: (typeof SHAPES)[number]): Promise<void> {
    for (let turn = first; !this.#isOver; turn += 1) {
      await this.#resumed.promise
      if (this.#isOver) return
      const model = models[turn % models.length]!
      const gateway = this.#choose(home)
      const underWay = { startedMs: performance.now() }
      this.#underWay.add(underWay)
      this.#count += 1
      const text = `Number ${this.#count}, please.`
      const { hungAfterMs: withinMs } = this.#options
      const onNode = (node: string): void => {
        this.lastUsedMs.set(`${gateway.name} ${model} ${node}`, performance.now())
      }
      const ending = await ask({ url: gateway.url, model, ...shape, text, withinMs, onNode })
      this.#underWay.delete(underWay)
      const { startedMs } = underWay
      const endedMs = performance.now()
      this.entries.push({ ...ending, gateway: gateway.name, model, isStream: shape.isStream, startedMs, endedMs })
      if (isGone(ending.kind)) this.#avoid.set(gateway.name, endedMs + AVOID_MS)
      await pause(REST_MS)
    }
  }

  #choose(home: Member): Member {
    const nowMs = performance.now()
    const isAvoided = ({ name }: Member): boolean => (this.#avoid.get(name) ?? 0) > nowMs
    if (!isAvoided(home)) return home
    return this.#options.gateways.find((gateway) => !isAvoided(gateway)) ?? home
  }
}

function isGone(kind: Kind): boolean {
  return kind === 'unconnected' || kind === 'lost'
}
