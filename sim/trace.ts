import { createHash } from 'node:crypto'
import { START_MS, type EventQueue } from './event-queue.ts'

const KEPT_LINES = 20

/** What happened, one line each: the last lines for people, a hash of all of them to compare two runs. */
export class Trace {
  readonly #queue: EventQueue
  readonly #hash = createHash('sha256')
  readonly #last: string[] = []

  constructor(queue: EventQueue) {
    this.#queue = queue
  }

  add(who: string, what: string): void {
    const line = `${clockText(this.#queue.nowMs)} ${who.padEnd(4)} ${what}`
    this.#hash.update(line)
    this.#last.push(line)
    if (this.#last.length > KEPT_LINES) this.#last.shift()
  }

  lastLines(): string[] {
    return [...this.#last]
  }

  /** Of everything until now; the trace goes on afterwards. */
  hash(): string {
    return this.#hash.copy().digest('hex').slice(0, 16)
  }
}

/** Minutes, seconds and thousandths since the start: 03:07.250 */
export function clockText(nowMs: number): string {
  const ms = nowMs - START_MS
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0')
  return `${two(ms / 60_000)}:${two((ms / 1000) % 60)}.${String(ms % 1000).padStart(3, '0')}`
}
