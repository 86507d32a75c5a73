import type { GatewayLoadMessage } from '../../api/bus/messages.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { StoredReplica } from '../../store/nouns/replicas.ts'

/** A gateway that is silent for so long has no requests any more, or is gone with them. */
const SILENT_AFTER_MS = 2000
const MOST_GATEWAYS = 1000

interface Load {
  seq: number
  atMs: number
  counts: Readonly<Record<string, number>>
  waiting: Readonly<Record<string, number>>
}

/** What all gateways have in flight and waiting at this moment, by what they tell each other. Every frontend hears it. */
export class GatewayLoads {
  readonly #clock: Clock
  readonly #gateways = new Map<string, Load>()
  #hasHeard = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  hear({ gateway, seq, counts, waiting = {} }: GatewayLoadMessage): void {
    this.#forgetSilent()
    const known = this.#gateways.get(gateway)
    if (known ? seq <= known.seq : this.#gateways.size >= MOST_GATEWAYS) return
    this.#hasHeard = true
    this.#gateways.set(gateway, { seq, atMs: this.#clock.nowMs(), counts, waiting })
  }

  /**
   * Gateways report within a fraction of a second, workers with each heartbeat. Replicas without a route are known from
   * workers only; so are all of them until a gateway was heard.
   */
  inFlightOf({ id, state, inFlight }: Pick<StoredReplica, 'id' | 'state' | 'inFlight'>): number {
    if (!this.#hasHeard || state !== 'ready') return inFlight
    this.#forgetSilent()
    let sum = 0
    for (const { counts } of this.#gateways.values()) if (Object.hasOwn(counts, id)) sum += counts[id]!
    return sum
  }

  waitingFor(modelName: string): number {
    this.#forgetSilent()
    let sum = 0
    for (const { waiting } of this.#gateways.values()) {
      if (Object.hasOwn(waiting, modelName)) sum += waiting[modelName]!
    }
    return sum
  }

  #forgetSilent(): void {
    const nowMs = this.#clock.nowMs()
    for (const [name, { atMs }] of this.#gateways) if (nowMs - atMs > SILENT_AFTER_MS) this.#gateways.delete(name)
  }
}
