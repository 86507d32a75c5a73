import type { Pace } from '../src/control/start-control.ts'
import type { Settings } from './cluster.ts'

interface PaceOfAll extends Pick<Settings, 'gateway' | 'checkMs' | 'meanRequestMs'> {
  heartbeats: readonly number[]
  offlineAfterMs: number
  control: Pace
  measurePerHeartbeat: number
}

/** How often things come by themselves in a cluster of so many nodes for so many hours. */
export function paceFor(nodeHours: number): PaceOfAll {
  if (nodeHours > MOST_SLOW_NODE_HOURS) return PACES.slowest
  return nodeHours > MOST_QUICK_NODE_HOURS ? PACES.slow : PACES.quick
}

/** Quick ones cost as much as all the rest: a long run of a large cluster has them slow. */
const PACES = {
  quick: {
    heartbeats: [5000, 10_000, 15_000],
    offlineAfterMs: 60_000,
    control: { turnPeriodMs: 3000, leaseTtlMs: 10_000 },
    gateway: {},
    checkMs: 5000,
    measurePerHeartbeat: 2,
    meanRequestMs: 5000,
  },
  slow: {
    heartbeats: [25_000, 30_000],
    offlineAfterMs: 150_000,
    control: { turnPeriodMs: 8000, leaseTtlMs: 25_000 },
    gateway: {},
    checkMs: 20_000,
    measurePerHeartbeat: 2,
    meanRequestMs: 10_000,
  },
  // A day of fifty machines. Machines that die are back within four minutes: silence must be judged before that.
  slowest: {
    heartbeats: [60_000, 90_000],
    offlineAfterMs: 200_000,
    control: { turnPeriodMs: 20_000, leaseTtlMs: 65_000, deafAfterMs: 45_000, wholeEveryMs: 120_000 },
    gateway: { checkMs: 5000, staleAfterMs: 45_000 },
    checkMs: 60_000,
    measurePerHeartbeat: 4,
    meanRequestMs: 10_000,
  },
} satisfies Record<string, PaceOfAll>
const MOST_QUICK_NODE_HOURS = 100
const MOST_SLOW_NODE_HOURS = 600
