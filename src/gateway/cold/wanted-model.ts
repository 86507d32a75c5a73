import type { LoadStatus } from '../../api/load-status.ts'
import type { Bus } from '../../bus/bus.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { messageOf } from '../../platform/errors.ts'

export interface WantedModelDeps {
  bus: Pick<Bus, 'request'>
  clock: Clock
  /** Called after each answer, and after each request without one. */
  onAnswer: () => void
}

const ASK_EVERY_MS = 2000
/** Control writes to its store before it answers. */
const ANSWER_WITHIN_MS = 5000
/** How long the load continues without a waiting request, so that a client whose connection broke can return to it. */
const WANTED_MS = 30_000
/** The longest time that the message allows. */
const MOST_WANTED_MS = 3_600_000

/** Tells control every 2 s that a model is wanted, for as long as it is; control answers how far the load is. */
export class WantedModel {
  /** Control's last answer. */
  status: LoadStatus | undefined
  /** Why the last request got no answer; undefined when it got one. */
  silence: string | undefined
  /** When control began to answer, each time, that no node can take the model. */
  refusedSinceMs: number | undefined
  readonly #model: string
  readonly #deps: WantedModelDeps
  #isStarted = false
  #isAsking = false
  #askedAtMs = -Infinity
  /** Until when clients that were told to retry want it, and until when control knows that it is wanted. */
  #keptUntilMs = -Infinity
  #knownUntilMs = -Infinity
  #cancelTimer = (): void => {}

  constructor(model: string, deps: WantedModelDeps) {
    this.#model = model
    this.#deps = deps
  }

  /** Asks at once, unless it asked less than 2 s ago, and then every 2 s until `stop`. */
  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    this.#askInTime()
  }

  stop(): void {
    this.#isStarted = false
    this.#cancelTimer()
  }

  /** A client was told to retry within this time. */
  keepFor(ms: number): void {
    this.#keptUntilMs = Math.max(this.#keptUntilMs, this.#deps.clock.nowMs() + ms)
  }

  /** Tells control a last time how long the model is wanted, if clients will retry later than control knows. */
  async sayLast(): Promise<void> {
    if (this.#keptUntilMs > this.#knownUntilMs) await this.#tell(0)
  }

  #askInTime(): void {
    if (!this.#isStarted || this.#isAsking) return
    const inMs = this.#askedAtMs + ASK_EVERY_MS - this.#deps.clock.nowMs()
    if (inMs > 0) this.#cancelTimer = this.#deps.clock.after(inMs, () => this.#askInTime())
    else void this.#ask()
  }

  async #ask(): Promise<void> {
    this.#isAsking = true
    this.#askedAtMs = this.#deps.clock.nowMs()
    await this.#tell(WANTED_MS)
    this.#isAsking = false
    this.#deps.onAnswer()
    this.#askInTime()
  }

  /** Never rejects: when control is away, `silence` says so. */
  async #tell(leastMs: number): Promise<void> {
    const { bus, clock } = this.#deps
    const nowMs = clock.nowMs()
    const wantedMs = Math.min(MOST_WANTED_MS, Math.max(leastMs, Math.ceil(this.#keptUntilMs - nowMs)))
    const message = { model_name: this.#model, wanted_ms: wantedMs }
    try {
      this.#hear(await bus.request('modelWanted', message, { timeoutMs: ANSWER_WITHIN_MS }))
      this.#knownUntilMs = Math.max(this.#knownUntilMs, nowMs + wantedMs)
    } catch (error) {
      this.silence = messageOf(error)
    }
  }

  #hear(status: LoadStatus): void {
    this.status = status
    this.silence = undefined
    if (status.state !== 'refused') this.refusedSinceMs = undefined
    else this.refusedSinceMs ??= this.#deps.clock.nowMs()
  }
}
