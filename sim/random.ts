/** All chance of one run. sfc32: small, quick, and the same numbers on every machine. */
export class Random {
  #a = 0x9e3779b9
  #b = 0x243f6a88
  #c = 0xb7e15162
  #d: number

  constructor(seed: number) {
    this.#d = seed | 0
    // Neighbouring seeds start alike; a few rounds drive them apart.
    for (let i = 0; i < 16; i += 1) this.next()
  }

  /** From 0 up to, but never, 1. */
  next(): number {
    const t = (((this.#a + this.#b) | 0) + this.#d) | 0
    this.#d = (this.#d + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + t) | 0
    return (t >>> 0) / 2 ** 32
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** A whole number, both ends included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1))
  }

  oneOf<T>(list: readonly T[]): T | undefined {
    return list[Math.floor(this.next() * list.length)]
  }

  /** Waits between things that happen independently of each other. */
  waitMs(meanMs: number): number {
    return Math.ceil(-Math.log(1 - this.next()) * meanMs)
  }
}
