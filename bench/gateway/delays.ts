import type { Name, Sides } from './all-sides.ts'
import { cpuMs, type Child } from './processes/child.ts'
import { PACED_EVENTS, type Beginning, type Measured, type Work } from './messages.ts'
import type { Side } from './sides.ts'
import { CLOSE_ROUNDS, inTurn } from './throughput.ts'

/** Moderate: a twentieth of what a quick proxy can do on one core, and less than the slowest one here can. */
export const RATE_PER_S = 500
export const STREAMS = 32
const AT_RATE: readonly Name[] = [
  'direct',
  'nginx',
  'haproxy',
  'flotilla',
  'two hops',
  'two hops, one core',
  'undici',
  'database, 1 statement',
  'portkey',
]
const STREAMED: readonly Name[] = ['direct', 'nginx', 'haproxy', 'flotilla', 'two hops']
/** What a stream meets that begins with others, or right behind another, is another question, and answered for fewer. */
const STREAMED_OTHERWISE: readonly Name[] = ['direct', 'nginx', 'flotilla']
/** Those that goals are about have some more rounds: what a machine that is not ours alone does is often more than what they differ by. */
const CLOSE: ReadonlySet<Name> = new Set(['direct', 'nginx', 'flotilla'])
const DURATION_MS = 2500

export interface Delays {
  /** Of requests that come at a fixed rate. */
  atRate: Map<Name, Measured[]>
  /** Of the first byte of streams at the pace of an engine. The processor time is that for a chunk. */
  firstByte: Record<Beginning, Map<Name, Measured[]>>
}

/**
 * How much later an answer comes through a proxy that is not busy. The first round does not count: code that was compiled
 * for thousands of requests a second is compiled anew when there are few.
 */
export async function measureDelays(load: Child, sides: Sides, rounds: number): Promise<Delays> {
  const firstByte = { 'at a rate': new Map(), 'in turn': new Map(), 'at once': new Map() }
  const delays: Delays = { atRate: new Map(), firstByte }
  const rate = { do: 'rate', perSecond: RATE_PER_S, durationMs: DURATION_MS } as const
  const streams = (begin: Beginning, names: readonly Name[]) => ({
    names,
    of: sides.stream,
    work: { do: 'first byte', streams: STREAMS, durationMs: DURATION_MS, begin } as const,
    pieces: PACED_EVENTS + 1,
    results: delays.firstByte[begin],
  })
  const parts = [
    { names: AT_RATE, of: sides.json, work: rate, pieces: 1, results: delays.atRate },
    streams('at a rate', STREAMED),
    streams('in turn', STREAMED_OTHERWISE),
    streams('at once', STREAMED_OTHERWISE),
  ]
  for (let round = 0; round <= rounds + CLOSE_ROUNDS; round += 1) {
    for (const { names, of, work, pieces, results } of parts) {
      const taking = round <= rounds ? names : names.filter((name) => CLOSE.has(name))
      for (const name of inTurn(taking, round)) {
        const side = of.get(name)
        const measured = side && (await withCpu(load, side, work, pieces))
        if (measured && round > 0) results.set(name, [...(results.get(name) ?? []), measured])
      }
    }
  }
  return delays
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
