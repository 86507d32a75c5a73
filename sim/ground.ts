import type { RouteMessage } from '../src/api/bus/messages.ts'
import type { PlacePolicy } from '../src/core/placement/types.ts'
import type { Step } from '../src/core/reconcile/plan.ts'
import type { StoredWorld } from '../src/store/world.ts'
import type { Bus } from './bus.ts'
import type { SimEngine } from './engine.ts'
import type { EventQueue } from './event-queue.ts'
import type { Health } from './health.ts'
import type { Machine } from './machine.ts'
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
  policy: PlacePolicy
  counts: Counts
  happened: Happened
  /** Chance of a start to fail, the mean life of an engine, and whether none takes more than its model says. */
  engines: { failureChance: number; meanLifeMs: number; isHonest: boolean }
}

/** What one event did, for the checks that follow it; emptied before the next. */
export interface Happened {
  /** Writes of leaders, with the epoch they held. */
  commits: { owner: string; epoch: number }[]
  applied: AppliedPlan[]
  /** Problems that the planner's own check found. */
  planProblems: string[]
  /** The leader's table, whenever it was told to the gateways. */
  published: RouteMessage[][]
  /** Engines that wanted more memory than there was. */
  outOfMemory: { machine: Machine; engine: SimEngine }[]
  /** Requests that waited for a model for as long as they may, or were told that it is of no use. */
  unserved: Unserved[]
}

/** What a leader did in one turn, with the world it did it in. */
export interface AppliedPlan {
  before: StoredWorld
  steps: readonly Step[]
}

export interface Unserved {
  modelName: string
  /** When its last wait began. */
  sinceMs: number
  why: 'late' | 'failed' | 'refused'
  /** What control said, if it ever did. */
  reason: string | undefined
}

export interface Counts {
  turns: number
  heartbeats: number
  starts: number
  failedStarts: number
  crashes: number
  outOfMemory: number
  evictions: number
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
  /** Waited for a model to be loaded; of them, went away meanwhile. */
  waited: number
  left: number
}

export function noCounts(): Counts {
  return {
    turns: 0,
    heartbeats: 0,
    starts: 0,
    failedStarts: 0,
    crashes: 0,
    outOfMemory: 0,
    evictions: 0,
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
    waited: 0,
    left: 0,
  }
}
