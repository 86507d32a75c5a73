import type { LoadStatus } from '../../api/load-status.ts'
import type { Bus } from '../../bus/bus.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { messageOf } from '../../platform/errors.ts'

export interface WantedModelDeps {
  bus: Pick<Bus, 'request'>
  clock: Clock
  /** After each answer, and each time that there was none. */
  onAnswer: () => void
}

const ASK_EVERY_MS = 2000
/** Control writes to its store before it answers. */
const ANSWER_WITHIN_MS = 5000
/** A client whose connection broke has this long to come back and find its load going on. */
const WANTED_MS = 30_000
/** The longest that the message may say. */
const MOST_WANTED_MS = 3_600_000

/** Tells control that a model is wanted, every 2 s for as long as it is, and hears how far it is. */
export class WantedModel {
  /** Control's last word. */
  status: LoadStatus | undefined
  /** Why there was no answer the last time; undefined when there was one. */
  silence: string | undefined
  /** Since when every answer was that no node can take it. */
  refusedSinceMs: number | undefined
  readonly #model: string
  readonly #deps: WantedModelDeps
  #isStarted = false
  #isAsking = false
  #askedAtMs = -Infinity
  /** Until when it is wanted by those who were told to come back, and until when control knows it to be wanted. */
  #keptUntilMs = -Infinity
  #knownUntilMs = -Infinity
  #cancelTimer = (): void => {}

  constructor(model: string, deps: WantedModelDeps) {
    this.#model = model
    this.#deps = deps
  }

  /** Asks at once, unless it did so a moment ago, and again and again until `stop`. */
  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    this.#askInTime()
  }

  stop(): void {
    this.#isStarted = false
    this.#cancelTimer()
  }

  /** Somebody will come back for it. */
  keepFor(ms: number): void {
    this.#keptUntilMs = Math.max(this.#keptUntilMs, this.#deps.clock.nowMs() + ms)
  }

  /** The last word on it, if somebody will come back and control does not know yet. */
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

  /** Never rejects: that control is away is a fact like others. */
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
