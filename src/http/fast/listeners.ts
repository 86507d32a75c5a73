interface Listener {
  readonly event: string
  readonly call: unknown
  readonly isOnce: boolean
}

/**
 * The part of an EventEmitter that requests and responses need. Most have no listener, and then it allocates nothing: the
 * allocations of Node's own emitter would be a tenth of all those of a short request.
 */
export class Listeners<Events extends Record<keyof Events, unknown[]>> {
  /** Replaced, never changed: an `emit` under way continues with the listeners it began with. */
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
