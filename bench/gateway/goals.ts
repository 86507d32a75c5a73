import { addedRatio, caseOf, median, ratio, ratioOf, shown, type Figures } from './figures.ts'

export interface Goal {
  goal: string
  found: string
  /** Undefined where it was not measured. */
  isMet: boolean | undefined
}

/** What the gateway is to reach, and what this run found. */
export function goalsOf(figures: Figures): Goal[] {
  const { delays, memory, processes, picks, sharing, churn, growth } = figures
  const [at32, at256] = [caseOf(figures, 'json', 32), caseOf(figures, 'json', 256)]
  const streams = caseOf(figures, 'stream', 32)
  const both = (other: Parameters<typeof ratio>[2]): number[] =>
    [at32, at256].map((results) => ratio(results, 'flotilla', other))
  const addedTo = (all: typeof delays.atRate, of: 'p50Ms' | 'p99Ms'): number => addedRatio(all, 'flotilla', 'nginx', of)
  const cpuPerChunk = median(streams.get('flotilla'), 'cpuUs') / median(streams.get('nginx'), 'cpuUs')
  return [
    atLeast('of nginx’s requests/s, JSON at 32 and 256 connections', 0.8, both('nginx')),
    atLeast('times the database design with one statement', 10, both('database, 1 statement')),
    atLeast('times the database design with a dozen', 40, both('database, 12 statements')),
    atLeast('times Portkey', 30, both('portkey')),
    atMost('at 500 requests/s: added p50, times nginx’s', 1.2, [addedTo(delays.atRate, 'p50Ms')]),
    atMost('at 500 requests/s: added p99, times nginx’s', 2, [addedTo(delays.atRate, 'p99Ms')]),
    atMost('first byte of 32 streams, begun at a fixed rate: added p50, times nginx’s', 1.3, [
      addedTo(delays.firstByte['at a rate'], 'p50Ms'),
    ]),
    atMost('processor time for a streamed chunk, times nginx’s', 1.5, [cpuPerChunk]),
    atLeast('of nginx’s single hop, by two hops', 0.45, [ratio(at32, 'two hops', 'nginx')]),
    atMost(
      'ns for a pick and its release at 10, 1,000 and 10,000 replicas',
      200,
      picks.map(({ structureNs }) => structureNs),
    ),
    atMost('load sharing, 10 gateways × 1,000 replicas: % of a core', 1, [sharing * 100]),
    atLeast('times one process on one core, by two on two', 1.8, [ratioOf(processes.two, processes.one)]),
    atMost('memory of an idle stream, times nginx’s', 1, [
      (memory.get('flotilla') ?? Number.NaN) / (memory.get('nginx') ?? Number.NaN),
    ]),
    ...(churn ? [atMost(`MB more after ${shown(churn.count)} streams came and went`, 8, [megabytes(churn)])] : []),
    ...(growth ? [atMost(`MB more after ${shown(growth.count)} requests`, 8, [megabytes(growth)])] : []),
  ]
}

function megabytes({ beforeBytes, afterBytes }: { beforeBytes: number; afterBytes: number }): number {
  return (afterBytes - beforeBytes) / 1024 / 1024
}

function atLeast(goal: string, least: number, found: readonly number[]): Goal {
  return judged(`at least ${least} ${goal}`, found, (value) => value >= least)
}

function atMost(goal: string, most: number, found: readonly number[]): Goal {
  return judged(`at most ${most}: ${goal}`, found, (value) => value <= most)
}

function judged(goal: string, found: readonly number[], isGood: (value: number) => boolean): Goal {
  const isKnown = found.every((value) => !Number.isNaN(value))
  return { goal, found: found.map(shown).join(', '), isMet: isKnown ? found.every(isGood) : undefined }
}
