import { z } from 'zod'
import { hardware } from '../hardware.ts'

/** What travels on the bus. Field names are those of the API and the store. */

export const reportedReplica = z.object({
  id: z.string(),
  model_name: z.string(),
  replica_index: z.int().nonnegative(),
  generation: z.int(),
  state: z.enum(['loading', 'ready', 'stopping', 'failed']),
  in_flight: z.int().nonnegative(),
  error: z.string().optional(),
})
export type ReportedReplicaMessage = z.infer<typeof reportedReplica>

/** The worker's word on its processes: always the full list, so that one heartbeat repairs any number of lost ones. */
export const heartbeat = z.object({
  boot_id: z.string(),
  /** Grows by one with each heartbeat of a boot. */
  seq: z.int().positive(),
  replicas: z.array(reportedReplica).max(10_000),
  ...hardware.shape,
})
export type HeartbeatMessage = z.infer<typeof heartbeat>

const replicaRef = z.object({ id: z.string(), generation: z.int() })

export const replicaStart = replicaRef.extend({
  model_name: z.string(),
  replica_index: z.int().nonnegative(),
  engine: z.string(),
  options: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
})
export type ReplicaStartMessage = z.infer<typeof replicaStart>

/** Accepted, not finished: progress comes with the heartbeats, from `known_from_seq` on. */
export const replicaStarted = z.object({ known_from_seq: z.int().positive() })

export const replicaStop = replicaRef
export type ReplicaStopMessage = z.infer<typeof replicaStop>

/** `unknown`: there is no such replica here, so nothing was done. */
export const replicaStopped = z.object({ result: z.enum(['stopping', 'unknown']) })

/** The node was removed from the cluster: stop what runs and end. */
export const nodeShutdown = z.object({ reason: z.string() })

export const route = z.object({
  replica_id: z.string(),
  generation: z.int(),
  model_name: z.string(),
  node_id: z.string(),
  node_name: z.string(),
  address: z.string(),
  /** What the node's data port asks of a gateway. */
  data_key: z.string(),
})
export type RouteMessage = z.infer<typeof route>

export const routedModel = z.object({ name: z.string(), engine: z.string(), created_at: z.int() })

/** `feed` names one run of one leader: versions of different feeds are not comparable. */
const feedVersion = { feed: z.string(), version: z.int().nonnegative() }

export const routingSnapshot = z.object({ ...feedVersion, models: z.array(routedModel), routes: z.array(route) })
export type RoutingSnapshotMessage = z.infer<typeof routingSnapshot>

/** Sent on every change, and now and then without one, so that a gateway that missed a delta notices the gap. */
export const routingDelta = z.object({
  ...feedVersion,
  /** The version this delta builds on; equal to `version` when nothing changed. */
  from_version: z.int().nonnegative(),
  models: z.array(routedModel).optional(),
  set: z.array(route),
  removed: z.array(z.string()),
})
export type RoutingDeltaMessage = z.infer<typeof routingDelta>

export const nothing = z.object({})
