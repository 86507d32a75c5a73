import { createHash } from 'node:crypto'

const KEPT_LINES = 40

/** What happened, one line each: the last lines for people, a hash of all of them to compare two runs. */
export class Trace {
  readonly #sinceStartMs: () => number
  readonly #onLine: ((line: string) => void) | undefined
  readonly #hash = createHash('sha256')
  #last: string[] = []

  constructor(sinceStartMs: () => number, onLine?: (line: string) => void) {
    this.#sinceStartMs = sinceStartMs
    this.#onLine = onLine
  }

  /** Who: n1, f1, g1, user, fault, … What: plain words, with the same names in them. */
  add(who: string, what: string): void {
    const line = `${clockText(this.#sinceStartMs())} ${who.padEnd(5)} ${what}`
    this.#hash.update(line)
    this.#last.push(line)
    if (this.#last.length >= 2 * KEPT_LINES) this.#last = this.lastLines()
    this.#onLine?.(line)
  }

  lastLines(): string[] {
    return this.#last.slice(-KEPT_LINES)
  }

  /** Of everything until now; the trace goes on afterwards. */
  hash(): string {
    return this.#hash.copy().digest('hex').slice(0, 16)
  }
}

/** Hours, minutes, seconds and thousandths since the start: 01:03:07.250 */
export function clockText(ms: number): string {
  const whole = Math.floor(ms)
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0')
  const seconds = `${two((whole / 1000) % 60)}.${String(whole % 1000).padStart(3, '0')}`
  return `${two(whole / 3_600_000)}:${two((whole / 60_000) % 60)}:${seconds}`
}

/** The time of a line of a trace. */
export function msOfClockText(line: string): number {
  const [, hours, minutes, seconds] = /^(\d+):(\d\d):([\d.]{6})/.exec(line) ?? []
  return hours === undefined
    ? 0
    : Math.round(Number(hours) * 3_600_000 + Number(minutes) * 60_000 + Number(seconds) * 1000)
}

/** Whether a line of a trace tells of a fault. */
export function isFault(line: string): boolean {
  return line.includes(' fault #')
}
