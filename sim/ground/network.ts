import type { EventQueue } from '../event-queue.ts'
import type { Random } from '../random.ts'

export interface Weather {
  loss: number
  doubled: number
  mostDelayMs: number
}

export const calm: Weather = { loss: 0, doubled: 0, mostDelayMs: 0 }

/** Who can reach whom (processes by name, `store`, `bus`), and how messages travel. Lines may be cut in one direction only. */
export class Network {
  weather = calm
  readonly random: Random
  readonly #queue: EventQueue
  readonly #cuts = new Map<string, number>()

  constructor(queue: EventQueue, random: Random) {
    this.#queue = queue
    this.random = random
  }

  /** The returned function mends it. Cut twice, it is to be mended twice. */
  cut(from: string, to: string): () => void {
    const line = `${from}>${to}`
    this.#cuts.set(line, (this.#cuts.get(line) ?? 0) + 1)
    let isCut = true
    return () => {
      if (!isCut) return
      isCut = false
      const count = this.#cuts.get(line)! - 1
      if (count === 0) this.#cuts.delete(line)
      else this.#cuts.set(line, count)
    }
  }

  isCut(from: string, to: string): boolean {
    return this.#cuts.size > 0 && this.#cuts.has(`${from}>${to}`)
  }

  /** Nothing is cut, and messages come as they are sent. */
  get isCalm(): boolean {
    return this.weather === calm && this.#cuts.size === 0
  }

  /** Both directions. */
  isApart(a: string, b: string): boolean {
    return this.#cuts.size > 0 && (this.isCut(a, b) || this.isCut(b, a))
  }

  /**
   * A message on its way: it comes once, in order, when the weather is fine; in bad weather it is lost, doubled and late,
   * and others overtake it.
   */
  carry(from: string, to: string, deliver: () => void): void {
    const { weather, random } = this
    if (this.#cuts.size > 0 && this.#cuts.has(`${from}>${to}`)) return
    if (weather === calm) {
      this.#queue.after(1, deliver)
      return
    }
    const copies = random.chance(weather.loss) ? 0 : random.chance(weather.doubled) ? 2 : 1
    for (let copy = 0; copy < copies; copy += 1) this.#queue.after(random.between(1, weather.mostDelayMs), deliver)
  }
}
