import { EVENTS_PER_STREAM, type Measured } from './messages.ts'
import { quantile } from './quantile.ts'

export interface Case {
  kind: 'json' | 'stream'
  connections: number
}

export const NAMES = ['direct', 'flotilla', 'two hops', 'nginx', 'haproxy', 'database', 'portkey'] as const
export type Name = (typeof NAMES)[number]

/** By side; each has one for each round. */
export type Results = ReadonlyMap<Name, readonly Measured[]>

/**
 * One case: a line for each side, with its slowest and fastest round, the proxy's processor time for a request, and the
 * ratio of its requests/s to those of nginx and of the database design.
 */
export function printCase({ kind, connections }: Case, results: Results): void {
  const what = kind === 'json' ? 'JSON, 600 bytes' : `SSE, ${EVENTS_PER_STREAM} events`
  const head = ['requests/s', 'from', 'to', 'p50 ms', 'p99 ms', 'CPU µs', '× nginx', '× database', 'failed']
  console.log(`\n${`${what}, concurrency ${connections}`.padEnd(30)}${head.map((name) => name.padStart(11)).join('')}`)
  for (const [name, rounds] of results) {
    const cells = [
      perSecond(results, name).toFixed(0),
      Math.min(...rounds.map((round) => round.perSecond)).toFixed(0),
      Math.max(...rounds.map((round) => round.perSecond)).toFixed(0),
      median(rounds, 'p50Ms').toFixed(2),
      median(rounds, 'p99Ms').toFixed(2),
      median(rounds, 'cpuUs').toFixed(0),
      (perSecond(results, name) / perSecond(results, 'nginx')).toFixed(2),
      (perSecond(results, name) / perSecond(results, 'database')).toFixed(2),
      String(rounds.reduce((sum, { failed }) => sum + failed, 0)),
    ]
    console.log(`${name.padEnd(30)}${cells.map((cell) => cell.replace('NaN', '-').padStart(11)).join('')}`)
  }
}

const GOALS: readonly { other: Name; times: number }[] = [
  { other: 'database', times: 3 },
  { other: 'portkey', times: 10 },
]

/**
 * Goals are about JSON requests/s, where enough connections keep a proxy busy: with a single one it is the way there and
 * back that is measured, and nginx itself is no ten times as fast as the slowest.
 */
export function printGoals(cases: readonly { of: Case; results: Results }[]): void {
  for (const { other, times } of GOALS) {
    const ratios = cases
      .filter(({ of, results }) => of.kind === 'json' && results.has(other))
      .map(({ of, results }) => ({
        at: of.connections,
        counts: of.connections > 1,
        ratio: perSecond(results, 'flotilla') / perSecond(results, other),
      }))
    const shown = ratios.map(({ at, ratio }) => `${ratio.toFixed(1)} at ${at}`).join(', ')
    const verdict = ratios.every(({ ratio, counts }) => !counts || ratio >= times) ? 'met' : 'NOT met'
    console.log(`goal: at least ${times} × ${other}: ${ratios.length > 0 ? `${verdict} (${shown})` : 'not measured'}`)
  }
}

function perSecond(results: Results, name: Name): number {
  return median(results.get(name) ?? [], 'perSecond')
}

function median(rounds: readonly Measured[], of: 'perSecond' | 'p50Ms' | 'p99Ms' | 'cpuUs'): number {
  return quantile(
    rounds.map((round) => round[of] ?? Number.NaN),
    0.5,
  )
}
