/**
 * Which requests run and which wait.
 *
 *   arrive ──▶ waiting ──(a slot is free, first come first served)──▶ running ──leave──▶ left
 *      │           └────────────────────leave──────────────────────────────────────────▶ left
 *      └── refused, when the queue is full
 *
 * `leave` is the end in every state and may be repeated, so that one `finally` covers success, failure and a client
 * that disconnected.
 */
export type TicketState = 'waiting' | 'running' | 'left'

export interface Ticket {
  readonly state: TicketState
  /** How long it has waited, or waited before it ran or left. */
  readonly waitedMs: number
}

export interface SlotsOptions {
  parallel: number
  /** The maximum number of waiting requests. */
  queueLimit: number
  nowMs: () => number
}

interface Entry {
  state: TicketState
  arrivedMs: number
  endedMs: number | undefined
  start: () => void
  readonly waitedMs: number
}

export class Slots {
  readonly #parallel: number
  readonly #queueLimit: number
  readonly #nowMs: () => number
  readonly #running = new Set<Ticket>()
  /** In order of arrival; a Set, so that leaving from the middle is cheap. */
  readonly #waiting = new Set<Entry>()

  constructor({ parallel, queueLimit, nowMs }: SlotsOptions) {
    this.#parallel = parallel
    this.#queueLimit = queueLimit
    this.#nowMs = nowMs
  }

  get inUse(): number {
    return this.#running.size
  }

  get queued(): number {
    return this.#waiting.size
  }

  /**
   * Calls `start` once, when the ticket gets its slot: before `arrive` returns if one is free. Undefined means refused.
   */
  arrive(start: () => void): Ticket | undefined {
    const nowMs = this.#nowMs
    const entry: Entry = {
      state: 'waiting',
      arrivedMs: nowMs(),
      endedMs: undefined,
      start,
      get waitedMs() {
        return (this.endedMs ?? nowMs()) - this.arrivedMs
      },
    }
    if (this.#running.size < this.#parallel) this.#run(entry)
    else if (this.#waiting.size < this.#queueLimit) this.#waiting.add(entry)
    else return undefined
    return entry
  }

  leave(ticket: Ticket): void {
    const entry = ticket as Entry
    if (entry.state === 'left') return
    entry.endedMs ??= this.#nowMs()
    entry.state = 'left'
    if (this.#waiting.delete(entry)) return
    this.#running.delete(entry)
    const [next] = this.#waiting
    if (!next || this.#running.size >= this.#parallel) return
    this.#waiting.delete(next)
    this.#run(next)
  }

  #run(entry: Entry): void {
    entry.state = 'running'
    entry.endedMs = this.#nowMs()
    this.#running.add(entry)
    entry.start()
  }
}
