import type { Pace } from '../src/control/turn/pace.ts'
import type { Settings } from './cluster.ts'

interface PaceOfAll extends Pick<Settings, 'gateway' | 'checkMs' | 'refreshMs' | 'meanRequestMs'> {
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
    refreshMs: 300_000,
    measurePerHeartbeat: 2,
    meanRequestMs: 5000,
  },
  slow: {
    heartbeats: [25_000, 30_000],
    offlineAfterMs: 150_000,
    // A turn that asks silent nodes takes longer than a turn's period and two seconds.
    control: { turnPeriodMs: 8000, leaseTtlMs: 25_000, deafAfterMs: 25_000 },
    gateway: {},
    checkMs: 20_000,
    refreshMs: 300_000,
    measurePerHeartbeat: 2,
    meanRequestMs: 10_000,
  },
  // A day of fifty machines.
  slowest: {
    heartbeats: [120_000, 180_000],
    offlineAfterMs: 400_000,
    control: {
      turnPeriodMs: 30_000,
      leaseTtlMs: 65_000,
      deafAfterMs: 45_000,
      wholeEveryMs: 600_000,
      quietWaitMs: 30_000,
    },
    gateway: { checkMs: 15_000, staleAfterMs: 45_000 },
    checkMs: 120_000,
    refreshMs: 600_000,
    measurePerHeartbeat: 4,
    meanRequestMs: 15_000,
  },
} satisfies Record<string, PaceOfAll>
const MOST_QUICK_NODE_HOURS = 100
const MOST_SLOW_NODE_HOURS = 600
