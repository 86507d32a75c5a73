import type { RouteMessage } from '../src/api/bus/messages.ts'
import type { Step } from '../src/core/reconcile/reconcile.ts'
import type { Bus } from './bus.ts'
import type { EventQueue } from './event-queue.ts'
import type { Health } from './health.ts'
import type { Parts } from './parts.ts'
import type { Random } from './random.ts'
import type { Store } from './store.ts'
import type { Trace } from './trace.ts'

/** What every part of the simulated cluster stands on. */
export interface Ground {
  queue: EventQueue
  random: Random
  trace: Trace
  parts: Parts
  store: Store
  bus: Bus
  health: Health
  counts: Counts
  happened: Happened
  /** Chance of a start to fail, and the mean life of an engine; nothing fails once the run is quiet. */
  engines: { failureChance: number; meanLifeMs: number }
}

/** What one event did, for the checks that follow it; emptied before the next. */
export interface Happened {
  /** Writes of leaders, with the epoch they held. */
  commits: { owner: string; epoch: number }[]
  applied: Step[]
  /** Problems that the planner's own check found. */
  planProblems: string[]
  /** The leader's table, whenever it was told to the gateways. */
  published: RouteMessage[][]
}

export interface Counts {
  turns: number
  heartbeats: number
  starts: number
  failedStarts: number
  crashes: number
  nodeDeaths: number
  workerDeaths: number
  partitions: number
  leaders: number
  changes: number
  accepted: number
  served: number
  retried: number
  refused: number
  brokenOff: number
}

export function noCounts(): Counts {
  return {
    turns: 0,
    heartbeats: 0,
    starts: 0,
    failedStarts: 0,
    crashes: 0,
    nodeDeaths: 0,
    workerDeaths: 0,
    partitions: 0,
    leaders: 0,
    changes: 0,
    accepted: 0,
    served: 0,
    retried: 0,
    refused: 0,
    brokenOff: 0,
  }
}
