import type { Name, Sides } from './all-sides.ts'
import { cpuMs, type Child } from './child.ts'
import { PACED_EVENTS, type Measured, type Work } from './messages.ts'
import type { Side } from './sides.ts'

/** Moderate: a twentieth of what a quick proxy can do on one core, and less than the slowest one here can. */
export const RATE_PER_S = 500
export const STREAMS = 32
const AT_RATE: readonly Name[] = [
  'direct',
  'nginx',
  'haproxy',
  'flotilla',
  'two hops',
  'undici',
  'database, 1 statement',
  'portkey',
]
const STREAMED: readonly Name[] = ['direct', 'nginx', 'haproxy', 'flotilla', 'two hops']
const DURATION_MS = 2500

export interface Delays {
  /** Of requests that come at a fixed rate. */
  atRate: Map<Name, Measured[]>
  /** Of the first byte of streams at the pace of an engine. The processor time is that for a chunk. */
  firstByte: Map<Name, Measured[]>
}

/** How much later an answer comes through a proxy that is not busy. */
export async function measureDelays(load: Child, sides: Sides, rounds: number): Promise<Delays> {
  const delays: Delays = { atRate: new Map(), firstByte: new Map() }
  for (let round = 0; round < rounds; round += 1) {
    for (const name of inTurn(AT_RATE, round)) {
      const side = sides.json.get(name)
      const work = { do: 'rate', perSecond: RATE_PER_S, durationMs: DURATION_MS } as const
      if (side) note(delays.atRate, name, await withCpu(load, side, work, 1))
    }
    for (const name of inTurn(STREAMED, round)) {
      const side = sides.stream.get(name)
      const work = { do: 'first byte', streams: STREAMS, durationMs: DURATION_MS } as const
      if (side) note(delays.firstByte, name, await withCpu(load, side, work, PACED_EVENTS + 1))
    }
  }
  return delays
}

function inTurn(names: readonly Name[], round: number): readonly Name[] {
  return round % 2 === 0 ? names : names.toReversed()
}

function note(results: Map<Name, Measured[]>, name: Name, measured: Measured): void {
  results.set(name, [...(results.get(name) ?? []), measured])
}

type Timed = Omit<Work & { do: 'rate' | 'first byte' }, 'target'>

async function withCpu(load: Child, side: Side, work: Timed, parts: number): Promise<Measured> {
  const pids = [side.pid, ...(side.otherPids ?? [])]
  const before = cpuMs(pids)
  const startMs = performance.now()
  const measured = (await load.ask({ ...work, target: side.target })) as Measured
  const requests = (measured.perSecond * (performance.now() - startMs)) / 1000
  const after = cpuMs(pids)
  const isKnown = before !== undefined && after !== undefined && requests > 0
  return isKnown ? { ...measured, cpuUs: ((after - before) * 1000) / requests / parts } : measured
}
