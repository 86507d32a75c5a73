import type { Name, Sides } from './all-sides.ts'
import { residentBytes, type Child } from './processes/child.ts'
import type { Measure } from './throughput.ts'
import type { Side } from './sides.ts'

/** Those that can be compared: Portkey takes minutes to open so many. */
const HELD: readonly Name[] = ['nginx', 'haproxy', 'flotilla', 'two hops', 'undici']

/** Bytes of each idle stream. The first ones are there for what is loaded and grown once, however many follow. */
export async function memoryPerStream(load: Child, sides: Sides, streams: number): Promise<Map<Name, number>> {
  const memory = new Map<Name, number>()
  for (const name of HELD) {
    const side = sides.stream.get(name)
    if (!side) continue
    const before = await held(load, side, streams)
    const after = await held(load, side, streams)
    await load.ask({ do: 'release' })
    if (before !== undefined && after !== undefined) memory.set(name, (after - before) / streams)
  }
  return memory
}

async function held(load: Child, side: Side, streams: number): Promise<number | undefined> {
  await load.ask({ do: 'hold', target: side.target, streams })
  return settled(side)
}

async function settled({ pid, settle }: Side): Promise<number | undefined> {
  await settle?.()
  return residentBytes(pid)
}

export interface Growth {
  beforeBytes: number
  afterBytes: number
  /** What was done in between. */
  count: number
}

/** Held streams of which a tenth is replaced again and again; memory after a fifth of the time and at its end. */
export async function churn(
  load: Child,
  side: Side,
  streams: number,
  durationS: number,
): Promise<(Growth & { streams: number }) | undefined> {
  const startMs = performance.now()
  let beforeBytes: number | undefined
  let count = 0
  await load.ask({ do: 'hold', target: side.target, streams })
  for (let share = 0; share < 1; share = (performance.now() - startMs) / (durationS * 1000)) {
    if (share >= 0.2) beforeBytes ??= await settled(side)
    await load.ask({ do: 'replace', target: side.target, streams: Math.ceil(streams / 10) })
    count += Math.ceil(streams / 10)
  }
  const afterBytes = await settled(side)
  await load.ask({ do: 'release' })
  return beforeBytes !== undefined && afterBytes !== undefined ? { beforeBytes, afterBytes, count, streams } : undefined
}

const TURN_MS = 10_000

/** Memory after a tenth of so many requests, and after all of them. */
export async function growth(measure: Measure, side: Side, requests: number): Promise<Growth | undefined> {
  let count = 0
  let beforeBytes: number | undefined
  while (count < requests) {
    const { perSecond } = await measure(side, { kind: 'json', connections: 32 }, TURN_MS)
    count += Math.round((perSecond * TURN_MS) / 1000)
    if (count >= requests / 10) beforeBytes ??= await settled(side)
  }
  const afterBytes = await settled(side)
  return beforeBytes !== undefined && afterBytes !== undefined ? { beforeBytes, afterBytes, count } : undefined
}
