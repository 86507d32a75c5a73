interface Listener {
  readonly event: string
  readonly call: unknown
  readonly isOnce: boolean
}

/**
 * As much of an EventEmitter as requests and responses need. Most of them have no listener at all, and then nothing is made:
 * what Node's own makes for each would be a tenth of all that a short request makes.
 */
export class Listeners<Events extends Record<keyof Events, unknown[]>> {
  /** Never changed, only replaced: whoever is just being told goes on with those that there were. */
  #all: readonly Listener[] = NONE

  on<K extends keyof Events & string>(event: K, call: (...args: Events[K]) => void): this {
    return this.#add({ event, call, isOnce: false })
  }

  once<K extends keyof Events & string>(event: K, call: (...args: Events[K]) => void): this {
    return this.#add({ event, call, isOnce: true })
  }

  off<K extends keyof Events & string>(event: K, call: (...args: Events[K]) => void): this {
    const at = this.#all.findLastIndex((one) => one.event === event && one.call === call)
    if (at !== -1) this.#all = this.#all.toSpliced(at, 1)
    return this
  }

  emit<K extends keyof Events & string>(event: K, ...args: Events[K]): void {
    const all = this.#all
    if (all.length === 0) return
    for (const one of all) {
      if (one.event !== event) continue
      if (one.isOnce) this.#all = this.#all.filter((other) => other !== one)
      const call = one.call as (...args: Events[K]) => void
      call(...args)
    }
  }

  #add(listener: Listener): this {
    this.#all = this.#all.length === 0 ? [listener] : [...this.#all, listener]
    return this
  }
}

const NONE: readonly Listener[] = []
