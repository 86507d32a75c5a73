import type { EventQueue } from './event-queue.ts'
import type { Health } from './health.ts'
import { CALM_DELAY_MS } from './limits.ts'
import type { Random } from './random.ts'

export interface Weather {
  loss: number
  doubled: number
  mostDelayMs: number
}

export const calm: Weather = { loss: 0, doubled: 0, mostDelayMs: CALM_DELAY_MS }

/**
 * Carries messages between nodes, frontends and gateways. Each takes its own time, so they overtake each other; in bad
 * weather they are lost, doubled and late. A node that is cut off hears and says nothing, and its engines still serve.
 */
export class Bus {
  /** Until when a message may be late that was sent in the last storm. */
  disturbedUntilMs = 0
  weather = calm
  readonly #queue: EventQueue
  readonly #random: Random
  readonly #health: Health
  readonly #cutOff = new Set<string>()

  constructor(queue: EventQueue, random: Random, health: Health) {
    this.#queue = queue
    this.#random = random
    this.#health = health
  }

  cutOff(nodeId: string): void {
    this.#cutOff.add(nodeId)
  }

  reconnect(nodeId: string): void {
    this.#cutOff.delete(nodeId)
  }

  isCutOff(nodeId: string): boolean {
    return this.#cutOff.has(nodeId)
  }

  /** `nodeId` is the node at one end, if there is one. */
  carry(nodeId: string | undefined, deliver: () => void): void {
    const { loss, doubled, mostDelayMs } = this.weather
    const copies = this.#random.chance(loss) ? 0 : this.#random.chance(doubled) ? 2 : 1
    let latestMs = this.weather === calm ? 0 : this.#queue.nowMs
    for (let copy = 0; copy < copies; copy += 1) {
      const delayMs = this.#random.between(1, mostDelayMs)
      if (delayMs > CALM_DELAY_MS) latestMs = Math.max(latestMs, this.#queue.nowMs + delayMs)
      this.#queue.after(delayMs, () => {
        if (nodeId === undefined || !this.#cutOff.has(nodeId)) deliver()
      })
    }
    if (latestMs > 0 && nodeId !== undefined) this.#health.disturbNode(nodeId, latestMs)
  }
}
