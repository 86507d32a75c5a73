import type { LogLine } from '../../api/admin/schemas.ts'

/** The newest lines up to a limit, ordered by number. */
export class LineRing {
  readonly #most: number
  readonly #slots: LogLine[] = []
  #start = 0

  constructor(most: number) {
    this.#most = most
  }

  get length(): number {
    return this.#slots.length
  }

  get first(): LogLine | undefined {
    return this.#slots[this.#start]
  }

  /** Adds the newest line; a full ring drops its oldest one. */
  push(line: LogLine): void {
    if (this.#slots.length < this.#most) {
      this.#slots.push(line)
      return
    }
    this.#slots[this.#start] = line
    this.#start = (this.#start + 1) % this.#most
  }

  /** How many lines have at most this number. */
  countUpTo(seq: number): number {
    let low = 0
    let high = this.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#at(middle).seq <= seq) low = middle + 1
      else high = middle
    }
    return low
  }

  /** The lines with a higher number. */
  after(seq: number): LogLine[] {
    const from = this.countUpTo(seq)
    return Array.from({ length: this.length - from }, (_, i) => this.#at(from + i))
  }

  #at(index: number): LogLine {
    return this.#slots[(this.#start + index) % this.#most]!
  }
}
