import type { Name } from './all-sides.ts'
import { RATE_PER_S, STREAMS, type Delays } from './delays.ts'
import type { Growth } from './memory.ts'
import { EVENTS_PER_STREAM, type Measured } from './messages.ts'
import type { Picks } from './picks.ts'
import type { Processes } from './processes/processes.ts'
import type { Case, Results } from './throughput.ts'

/** All that one run has found. */
export interface Figures {
  cases: { of: Case; results: Results }[]
  delays: Delays
  /** Bytes of an idle stream. */
  memory: ReadonlyMap<Name, number>
  processes: Processes
  picks: Picks[]
  /** Of one core, for hearing of nine other gateways that have 100 requests each at 1,000 replicas. */
  sharing: number
  churn: (Growth & { streams: number }) | undefined
  growth: Growth | undefined
}

type Field = 'perSecond' | 'p50Ms' | 'p99Ms' | 'cpuUs'

export function median(rounds: readonly Measured[] | undefined, of: Field): number {
  return middle((rounds ?? []).map((round) => round[of] ?? Number.NaN))
}

export function caseOf({ cases }: Figures, kind: Case['kind'], connections: number): Results {
  return cases.find(({ of }) => of.kind === kind && of.connections === connections)!.results
}

/** How one stands to another, by requests/s of each round that both had: two that followed each other had the same machine. */
export function ratio(results: Results, name: Name, other: Name): number {
  return ratioOf(results.get(name), results.get(other))
}

export function ratioOf(rounds: readonly Measured[] = [], others: readonly Measured[] = []): number {
  const both = rounds.slice(0, others.length)
  return middle(both.map(({ perSecond }, i) => perSecond / others[i]!.perSecond))
}

/** Of an even number the mean of the two in the middle, so that few rounds flatter nobody. */
function middle(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length / 2
  return ((sorted[Math.ceil(half) - 1] ?? Number.NaN) + (sorted[Math.floor(half)] ?? Number.NaN)) / 2
}

export interface Table {
  title: string
  head: readonly string[]
  rows: readonly (readonly string[])[]
}

export function tablesOf(figures: Figures): Table[] {
  const { delays, memory, processes, picks } = figures
  return [
    ...figures.cases.map(({ of, results }) => caseTable(of, results)),
    delayTable(`At a fixed rate of ${RATE_PER_S} requests/s: delay in µs`, delays.atRate, 'CPU µs a request'),
    delayTable(
      `${STREAMS} streams at the pace of an engine, begun at a fixed rate: delay of the first byte in µs`,
      delays.firstByte['at a rate'],
      'CPU µs a chunk',
    ),
    delayTable(
      `The same, each begun in the moment in which another has ended: delay of the first byte in µs`,
      delays.firstByte['in turn'],
      'CPU µs a chunk',
    ),
    delayTable(
      `The same, all begun in one moment: delay of the first byte in µs`,
      delays.firstByte['at once'],
      'CPU µs a chunk',
    ),
    {
      title: 'Memory of an idle stream',
      head: ['', 'KiB', '× nginx'],
      rows: [...memory].map(([name, bytes]) => [
        name,
        shown(bytes / 1024),
        shown(bytes / (memory.get('nginx') ?? Number.NaN)),
      ]),
    },
    {
      title: 'Processes of one gateway, on as many cores, with as many clients and upstreams on the same cores',
      head: ['', 'requests/s', 'CPU µs'],
      rows: (['one', 'two'] as const).map((count) => [
        count,
        shown(median(processes[count], 'perSecond')),
        shown(median(processes[count], 'cpuUs')),
      ]),
    },
    {
      title: 'A pick and its release',
      head: ['replicas', 'ns', 'by a scan'],
      rows: picks.map(({ replicas, structureNs, scanNs }) => [String(replicas), shown(structureNs), shown(scanNs)]),
    },
  ]
}

function caseTable({ kind, connections }: Case, results: Results): Table {
  const what = kind === 'json' ? 'JSON, 600 bytes' : `SSE, ${EVENTS_PER_STREAM} events`
  const nginxUs = median(results.get('nginx'), 'cpuUs')
  const rows = [...results].map(([name, rounds]) => {
    const perSecond = rounds.map((round) => round.perSecond)
    return [
      name,
      shown(median(rounds, 'perSecond')),
      `${shown(Math.min(...perSecond))} – ${shown(Math.max(...perSecond))}`,
      shown(ratio(results, name, 'nginx')),
      shown(median(rounds, 'p50Ms')),
      shown(median(rounds, 'p99Ms')),
      shown(median(rounds, 'cpuUs')),
      shown(median(rounds, 'cpuUs') / nginxUs),
      String(rounds.reduce((sum, { failed }) => sum + failed, 0)),
    ]
  })
  const head = ['', 'requests/s', 'from – to', '× nginx', 'p50 ms', 'p99 ms', 'CPU µs', 'CPU × nginx', 'failed']
  return { title: `${what}, ${connections} connections`, head, rows }
}

function delayTable(title: string, all: ReadonlyMap<Name, readonly Measured[]>, cpu: string): Table {
  const rows = [...all].map(([name, rounds]) => [
    name,
    shown(1000 * median(rounds, 'p50Ms')),
    shown(1000 * median(rounds, 'p99Ms')),
    shown(1000 * added(all, name, 'p50Ms')),
    shown(1000 * added(all, name, 'p99Ms')),
    shown(median(rounds, 'cpuUs')),
    String(rounds.reduce((sum, { failed }) => sum + failed, 0)),
  ])
  return { title, head: ['', 'p50', 'p99', 'added p50', 'added p99', cpu, 'failed'], rows }
}

/**
 * How what one adds stands to what another does, by what was measured in each round: a machine on which others work now and
 * then has other delays a minute later, asked directly and through whichever proxy.
 */
export function addedRatio(
  all: ReadonlyMap<Name, readonly Measured[]>,
  name: Name,
  other: Name,
  of: 'p50Ms' | 'p99Ms',
): number {
  const direct = all.get('direct') ?? []
  const others = all.get(other) ?? []
  const ratios = (all.get(name) ?? []).flatMap((mine, i) => {
    const [without, theirs] = [direct[i], others[i]]
    if (!without || !theirs) return []
    const addedByOther = theirs[of] - without[of]
    // Less than nothing is what others have taken or given in the meantime, and says nothing of either.
    return addedByOther > 0 ? [(mine[of] - without[of]) / addedByOther] : []
  })
  return middle(ratios)
}

/** Beyond what it takes without a proxy. */
export function added(all: ReadonlyMap<Name, readonly Measured[]>, name: Name, of: 'p50Ms' | 'p99Ms'): number {
  return median(all.get(name), of) - median(all.get('direct'), of)
}

export function shown(value: number): string {
  if (Number.isNaN(value)) return '-'
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US')
  return String(Number(value.toPrecision(value < 1 ? 2 : 3)))
}
