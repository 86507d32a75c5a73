import type { Name, Sides } from './all-sides.ts'
import type { Measured } from './messages.ts'
import type { Side } from './sides.ts'

export interface Case {
  kind: 'json' | 'stream'
  connections: number
}

/** By side; each has one for each round. */
export type Results = ReadonlyMap<Name, readonly Measured[]>
export type Measure = (side: Side, of: Case, durationMs: number) => Promise<Measured>

const CASES: readonly Case[] = [
  { kind: 'json', connections: 32 },
  { kind: 'json', connections: 256 },
  { kind: 'stream', connections: 32 },
  { kind: 'stream', connections: 256 },
]
/** Encryption and counting cost the same at any number of connections; the slow ones of many streams show nothing new. */
const ONLY_AT_32: ReadonlySet<Name> = new Set(['nginx, TLS', 'flotilla, TLS'])
const ONLY_JSON: ReadonlySet<Name> = new Set([
  'with keys and metrics',
  'two hops, one core',
  'database, 1 statement',
  'database, 12 statements',
])
/** Where a tenth decides whether a goal is met, a few rounds on a machine that is not ours alone tell nothing. */
const CLOSE: ReadonlySet<Name> = new Set(['nginx', 'flotilla', 'two hops', 'database, 1 statement'])
export const CLOSE_ROUNDS = 8
const ROUND_MS = 2000
/** What others have pushed out of the processor's caches meanwhile comes back in this time, which does not count. */
export const LEAD_MS = 1000
/** Compilers need some hundred thousand requests until they are done. */
const WARM_UP_MS = { json: 5000, stream: 2000 }

/**
 * Every case on every side that takes part in it, round after round, every other round backwards: whatever else the
 * machine does falls on all. No round starts after `lastStartMs`: on a slow machine there are fewer rounds, never a longer run.
 * Those that are close to each other, or to how far apart they are to be, have some more of their own.
 */
export async function measureCases(
  sides: Sides,
  measure: Measure,
  rounds: number,
  lastStartMs: number,
): Promise<{ of: Case; results: Results }[]> {
  const cases = CASES.map((of) => {
    const taking = [...sides[of.kind]].filter(([name]) => takesPart(name, of))
    return { of, taking, results: new Map(taking.map(([name]) => [name, [] as Measured[]])) }
  })
  const measureWarm = async (side: Side, of: Case): Promise<Measured> => {
    await measure(side, of, LEAD_MS)
    return measure(side, of, ROUND_MS)
  }
  for (const { of, taking } of cases) {
    if (of.connections === 32) for (const [, side] of taking) await measure(side, of, WARM_UP_MS[of.kind])
  }
  for (let round = 0; round < rounds && performance.now() < lastStartMs; round += 1) {
    for (const { of, taking, results } of cases) {
      for (const [name, side] of inTurn(taking, round)) results.get(name)!.push(await measureWarm(side, of))
    }
  }
  for (let round = 0; round < CLOSE_ROUNDS; round += 1) {
    for (const { of, taking, results } of cases) {
      const close = of.kind === 'json' ? taking.filter(([name]) => CLOSE.has(name)) : []
      for (const [name, side] of inTurn(close, round)) results.get(name)!.push(await measureWarm(side, of))
    }
  }
  return cases
}

/** Every other round backwards. */
export function inTurn<T>(all: readonly T[], round: number): readonly T[] {
  return round % 2 === 0 ? all : all.toReversed()
}

function takesPart(name: Name, { kind, connections }: Case): boolean {
  if (kind === 'stream' && ONLY_JSON.has(name)) return false
  if (ONLY_AT_32.has(name)) return connections === 32
  return connections === 32 || kind === 'json' || name !== 'portkey'
}
