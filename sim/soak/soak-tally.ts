import { createHash } from 'node:crypto'
import type { Outcome } from '../simulate.ts'

/** More failures than anybody reads: further ones are only counted. */
const MOST_FAILURES = 100

/** What became of many runs, in the memory of a few: it has to hold for days. */
export class Tally {
  seeds = 0
  failed = 0
  events = 0
  virtualMs = 0
  faults = 0
  cpuMs = 0
  longestCpuMs = 0
  readonly counts: Record<string, number> = {}
  /** In the order of their seeds. */
  readonly failures: Outcome[] = []
  #first = Infinity
  #last = -Infinity
  #history = 0n

  add(outcome: Outcome, cpuMs: number): void {
    const { seed, events, virtualMs, counts, faultsInjected, traceHash, violation } = outcome
    this.seeds += 1
    this.events += events
    this.virtualMs += virtualMs
    this.faults += faultsInjected
    this.cpuMs += cpuMs
    this.longestCpuMs = Math.max(this.longestCpuMs, cpuMs)
    for (const [name, count] of Object.entries(counts)) this.counts[name] = (this.counts[name] ?? 0) + count
    this.#first = Math.min(this.#first, seed)
    this.#last = Math.max(this.#last, seed)
    // Runs end in any order, and their histories together must be the same each time: so they are added up.
    const digest = createHash('sha256').update(`${seed} ${traceHash}`).digest()
    this.#history ^= digest.readBigUInt64BE()
    if (!violation) return
    this.failed += 1
    if (this.failures.length >= MOST_FAILURES) return
    this.failures.push(outcome)
    this.failures.sort((a, b) => a.seed - b.seed)
  }

  /** The first and the last seed that ran. */
  range(): [number, number] {
    return [this.#first, this.#last]
  }

  /** Of all that happened: two runs of the same seeds have the same. */
  history(): string {
    return this.#history.toString(16).padStart(16, '0')
  }
}
