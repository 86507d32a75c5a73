import type { GatewayLoadMessage } from '../../api/bus/messages.ts'
import type { ModelLoad, Replica } from '../../core/types.ts'

/** Older samples count for little, so that a burst of a second or two starts nothing. */
const MEMORY_MS = 10_000
/** A gateway that is silent for so long has no requests any more, or is gone with them. */
const SILENT_AFTER_MS = 2000
const MOST_GATEWAYS = 1000

interface Gateway {
  atMs: number
  counts: Readonly<Record<string, number>>
  waiting: Readonly<Record<string, number>>
}

interface Average {
  busy: number
  atMs: number
}

/**
 * How busy each model is, averaged over the last seconds, from the reports of gateways and workers. Held in memory by the
 * leader alone: a new leader needs some seconds to know it.
 */
export class LoadTracker {
  readonly #gateways = new Map<string, Gateway>()
  readonly #averages = new Map<string, Average>()

  hear({ gateway, counts, waiting = {} }: GatewayLoadMessage, nowMs: number): void {
    if (this.#gateways.size >= MOST_GATEWAYS && !this.#gateways.has(gateway)) return
    this.#gateways.set(gateway, { atMs: nowMs, counts, waiting })
  }

  /** Takes a sample of the replicas that serve, by model. */
  sample(replicas: readonly Pick<Replica, 'id' | 'modelName' | 'state' | 'inFlight'>[], nowMs: number): ModelLoad[] {
    for (const [name, { atMs }] of this.#gateways) if (nowMs - atMs > SILENT_AFTER_MS) this.#gateways.delete(name)
    const gateways = [...this.#gateways.values()]
    // Gathered first: with many gateways, to look for each replica in each of them takes longer than a turn.
    const inUse = new Set(gateways.flatMap(({ counts }) => Object.keys(counts).filter((id) => counts[id]! > 0)))
    const waiting = new Map<string, number>()
    for (const [name, count] of gateways.flatMap((one) => Object.entries(one.waiting))) {
      waiting.set(name, (waiting.get(name) ?? 0) + count)
    }
    const ready = Map.groupBy(
      replicas.filter(({ state }) => state === 'ready'),
      ({ modelName }) => modelName,
    )
    for (const name of this.#averages.keys()) if (!ready.has(name)) this.#averages.delete(name)
    const names = new Set([...ready.keys(), ...waiting.keys()])
    return [...names].map((modelName) => {
      const mine = ready.get(modelName) ?? []
      const busy = mine.filter(({ id, inFlight }) => inFlight > 0 || inUse.has(id))
      return {
        modelName,
        busy: this.#average(modelName, mine.length === 0 ? 0 : busy.length / mine.length, nowMs),
        waiting: waiting.get(modelName) ?? 0,
      }
    })
  }

  /** The longer since the last sample, the more the new one counts. */
  #average(modelName: string, share: number, nowMs: number): number {
    const before = this.#averages.get(modelName) ?? { busy: 0, atMs: nowMs }
    const weight = Math.exp(-Math.max(0, nowMs - before.atMs) / MEMORY_MS)
    const busy = before.busy * weight + share * (1 - weight)
    this.#averages.set(modelName, { busy, atMs: nowMs })
    return busy
  }
}
