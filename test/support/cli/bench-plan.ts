import type { Part, Plan } from '../../../src/cli/bench/load/mix.ts'

/** A run of ten seconds with one short request a second. */
export function aPlan({ part, ...plan }: Partial<Plan> & { part?: Partial<Part> } = {}): Plan {
  return {
    parts: [aPart(part)],
    seed: 1,
    arrivals: 'constant',
    forMs: 10_000,
    mostConversations: 1e8,
    rampMs: 0,
    warmUpMs: 0,
    mostInFlight: 1000,
    timeoutMs: 60_000,
    ...plan,
  }
}

export function aPart(part: Partial<Part> = {}): Part {
  const one = { least: 1, most: 1 }
  const none = { least: 0, most: 0 }
  return {
    model: 'm',
    ratePerS: 1,
    prompt: { least: 5, most: 5 },
    answer: one,
    streamShare: 1,
    turns: one,
    thinkMs: none,
    ...part,
  }
}
