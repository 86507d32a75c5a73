import type { BusRole } from '../../src/api/bus/subjects.ts'
import type { Clock } from '../../src/platform/run/clock.ts'
import type { EventQueue } from '../event-queue.ts'

/**
 * A process of the cluster. Whatever comes to it from outside (a timer, a message, an answer of the store) comes through
 * `run`, so that killing it is to let nothing through any more, at whatever it was waiting for, and to freeze it is to hold
 * everything until it goes on.
 */
export class SimProcess {
  readonly name: string
  readonly role: BusRole
  readonly clock: Clock
  /** How far its clock is off. Timers do not care, as in the real world. */
  skewMs = 0
  readonly #queue: EventQueue
  #state: 'up' | 'frozen' | 'dead' = 'up'
  #held: (() => void)[] = []
  readonly #onDeath = new Set<() => void>()

  constructor(name: string, role: BusRole, queue: EventQueue) {
    this.name = name
    this.role = role
    this.#queue = queue
    this.clock = {
      nowMs: () => queue.nowMs + this.skewMs,
      after: (delayMs, callback) => {
        let isOff = false
        const cancel = queue.after(delayMs, () => {
          if (this.#state === 'up') callback()
          else this.run(() => !isOff && callback())
        })
        return () => {
          isOff = true
          cancel()
        }
      },
    }
  }

  get isUp(): boolean {
    return this.#state === 'up'
  }

  get isDead(): boolean {
    return this.#state === 'dead'
  }

  get isFrozen(): boolean {
    return this.#state === 'frozen'
  }

  run(task: () => void): void {
    if (this.#state === 'up') task()
    else if (this.#state === 'frozen') this.#held.push(task)
  }

  /** SIGSTOP. */
  freeze(): void {
    if (this.#state === 'up') this.#state = 'frozen'
  }

  /** SIGCONT: all that came meanwhile comes now, in its order. */
  thaw(): void {
    if (this.#state !== 'frozen') return
    this.#state = 'up'
    const held = this.#held
    this.#held = []
    for (const task of held) this.#queue.after(0, () => this.run(task))
  }

  /** kill -9. Its connections end, as the operating system sees to. */
  kill(): void {
    if (this.#state === 'dead') return
    this.#state = 'dead'
    this.#held = []
    for (const callback of this.#onDeath) callback()
    this.#onDeath.clear()
  }

  onDeath(callback: () => void): void {
    this.#onDeath.add(callback)
  }

  offDeath(callback: () => void): void {
    this.#onDeath.delete(callback)
  }
}
