import type { Clock } from './clock.ts'

/** The interval at which a repeating line is logged again. */
const EVERY_MS = 60_000
/** How many failures are told apart; beyond that the one logged longest ago is forgotten. */
const MOST_KEYS = 1000

interface Said {
  atMs: number
  since: number
}

/** A field of the line: how often it was left out since it was last written. */
export interface Repeated {
  repeated?: number
}

/**
 * Lines of failures that repeat: the first is logged at once, the same one again after a minute at the earliest, with
 * the number of times that it was left out. What makes two the same is the key: the failure and its subject.
 */
export class RepeatedLines {
  readonly #clock: Pick<Clock, 'nowMs'>
  readonly #everyMs: number
  readonly #said = new Map<string, Said>()

  constructor(clock: Pick<Clock, 'nowMs'>, everyMs = EVERY_MS) {
    this.#clock = clock
    this.#everyMs = everyMs
  }

  /** Calls `log` now, or counts. */
  tell(key: string, log: (repeated: Repeated) => void): void {
    const nowMs = this.#clock.nowMs()
    const said = this.#said.get(key)
    // A clock that is set back must not silence a line.
    if (said && nowMs >= said.atMs && nowMs - said.atMs < this.#everyMs) {
      said.since += 1
      return
    }
    this.#said.delete(key)
    this.#said.set(key, { atMs: nowMs, since: 0 })
    const [oldest] = this.#said.keys()
    if (this.#said.size > MOST_KEYS) this.#said.delete(oldest!)
    log(said && said.since > 0 ? { repeated: said.since } : {})
  }
}
