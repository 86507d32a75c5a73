import { createServer } from 'node:net'
import { AppError } from '../platform/errors.ts'

export interface PortRange {
  from: number
  to: number
}

/** Hands out engine ports from a range, each to one replica at a time, checked with the operating system. */
export class Ports {
  readonly #range: PortRange
  readonly #taken = new Set<number>()
  #next: number

  /** Begins anywhere in the range: two workers on one machine would otherwise try for the same ports at the same time. */
  constructor(range: PortRange, random: () => number = Math.random) {
    this.#range = range
    this.#next = range.from + Math.floor(random() * (range.to - range.from + 1))
  }

  async take(): Promise<number> {
    const size = this.#range.to - this.#range.from + 1
    for (let tries = 0; tries < size; tries += 1) {
      const port = this.#next
      // Round and round rather than lowest first, so that a port just given up is not the next one handed out.
      this.#next = port === this.#range.to ? this.#range.from : port + 1
      if (this.#taken.has(port)) continue
      this.#taken.add(port)
      if (await isFree(port)) return port
      this.#taken.delete(port)
    }
    const { from, to } = this.#range
    const counts = `${this.#taken.size} of ${size} in use by replicas, the others by other programs`
    throw new AppError('unavailable', `No free engine port in ${from}-${to} (${counts}). Widen --engine-ports.`)
  }

  release(port: number): void {
    this.#taken.delete(port)
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen({ host: '127.0.0.1', port }, () => probe.close(() => resolve(true)))
  })
}
