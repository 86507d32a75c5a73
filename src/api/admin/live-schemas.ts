import { z } from 'zod'
import { problem } from './cluster-schemas.ts'
import { modelView } from './model-schemas.ts'
import { ruleView } from './rule-schemas.ts'
import { nodeView, replicaView } from './schemas.ts'

/** The whole cluster as it changes, as a stream. */

/** What changed of a list since the message before. */
function changesOf<T extends z.ZodType>(item: T) {
  return z.object({
    /** New ones, whole. */
    set: z.array(item),
    /** By id (models and rules: by name), those fields that are different now. */
    patch: z.record(z.string(), z.record(z.string(), z.unknown())),
    /** Ids of those that are gone. */
    gone: z.array(z.string()),
  })
}

/** A model, and how its rule and its callers are doing. */
export const liveModel = modelView.extend({
  /** What its rule asks for as things are; null without a rule. */
  wanted: z.int().nullable(),
  in_flight: z.int(),
  /** Requests that wait for a turn at a gateway. */
  waiting: z.int(),
})
export type LiveModel = z.infer<typeof liveModel>

export const traffic = z.object({
  /** Requests that ended, and those of them that failed, a second, over the last ten. */
  rate: z.number(),
  error_rate: z.number(),
  /** Means of the last minute; null without a request. */
  latency_ms: z.number().nullable(),
  first_byte_ms: z.number().nullable(),
  /** Requests that ended in each of the last intervals, the oldest first. */
  history: z.array(z.int()),
})
export type Traffic = z.infer<typeof traffic>

/** So much time does one figure of a history stand for, and so many there are. */
export const HISTORY_STEP_MS = 2000
export const HISTORY_STEPS = 30

export const liveTraffic = z.object({
  cluster: traffic,
  /** By name; those that were asked in the last minute. */
  models: z.record(z.string(), traffic),
  /** Requests a second by replica; those that are not 0. */
  replicas: z.record(z.string(), z.number()),
})
export type LiveTraffic = z.infer<typeof liveTraffic>

/** The first of a connection has everything in `set`; each further one what has changed. */
export const liveMessage = z.object({
  is_snapshot: z.boolean(),
  /** By the frontend's clock, which heartbeats and events are told by. */
  at: z.int(),
  nodes: changesOf(nodeView),
  replicas: changesOf(replicaView),
  models: changesOf(liveModel),
  rules: changesOf(ruleView),
  /** What is wrong, the worst first; null: as before. */
  problems: z.array(problem).nullable(),
  /** Null: as before. */
  traffic: liveTraffic.nullable(),
  /** The number of the newest event: a page that shows events has missed none up to it. */
  newest_event: z.int(),
})
export type LiveMessage = z.infer<typeof liveMessage>
