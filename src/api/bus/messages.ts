import { z } from 'zod'
import { MOST_CLUSTER_ID } from '../../core/lib/cluster-id.ts'
import { boundedRecord, label, longLabel, longList, longRecord, prose } from '../bounds.ts'
import { decisionRecord } from '../decision-record.ts'
import { archive } from '../engine-profile.ts'
import { hardware } from '../hardware.ts'
import { keyScope } from '../key-scope.ts'
import { replicaState } from '../replica-state.ts'
import { loadStatus } from '../load-status.ts'
import { modelHeader } from '../model-header.ts'
import { engineExit, measuredMemory, progress, reportedEngine } from '../reports.ts'
import { routePolicy } from '../route-policy.ts'

/** What travels on the bus. Field names are those of the API and the store. Each text and list has a bound: `api/bounds.ts`. */

/** In one message of at most 1 MiB; the whole table has more, in parts. */
const MOST_LISTED = 50_000
/** Of a table that a gateway has saved. */
const MOST_SAVED = 200_000

export type ProgressMessage = z.infer<typeof progress>

export type EngineExitMessage = z.infer<typeof engineExit>

export const reportedReplica = z.object({
  id: label,
  model_name: label,
  replica_index: z.int().nonnegative(),
  generation: z.int(),
  /** Without `reserved`: a worker does not know those replicas yet. */
  state: replicaState.exclude(['reserved']),
  in_flight: z.int().nonnegative(),
  progress: progress.nullable().default(null),
  error: prose.optional(),
  exit: engineExit.nullable().default(null),
  memory: measuredMemory.nullable().default(null),
  /** Since its last request ended; 0 while one runs; null when it never had one. */
  idle_ms: z.int().nonnegative().nullable().default(null),
  /** It failed for want of memory. */
  out_of_memory: z.boolean().default(false),
})
export type ReportedReplicaMessage = z.infer<typeof reportedReplica>

export type ReportedEngineMessage = z.infer<typeof reportedEngine>

/** Of replicas that have just ended; a worker forgets the oldest of more. */
export const MOST_UNREAD = 1000

/** The worker's report of its processes: always the full list, so that one heartbeat repairs any number of lost ones. */
export const heartbeat = z.object({
  boot_id: label,
  /** Which run of the worker says so. One of the release before does not say. */
  run_id: label.optional(),
  /** Grows by one with each heartbeat of a boot. */
  seq: z.int().positive(),
  replicas: longList(reportedReplica, 10_000),
  engines: z.array(reportedEngine).max(200),
  /**
   * Ids of replicas that have ended since the reading of the memory below began, which may count what they held as taken.
   * Workers of the release before never say.
   */
  unread: z.array(z.string().max(200)).max(MOST_UNREAD).optional(),
  /** For some minutes after the node had to register anew: what it runs and no row knows is not to be stopped at once. */
  is_returned: z.boolean().optional(),
  ...hardware.shape,
})
export type HeartbeatMessage = z.infer<typeof heartbeat>

const replicaRef = z.object({ id: label, generation: z.int() })

/** Idempotent by the replica's id: it is the id of this command. */
export const replicaStart = replicaRef.extend({
  model_name: label,
  replica_index: z.int().nonnegative(),
  engine: label,
  source: longLabel.nullable(),
  options: boundedRecord(label, z.union([longLabel, z.number(), z.boolean()]), 1000),
  /** Indexes of the devices it may use; without it that is left to the engine, and none keeps it away from all. */
  devices: z.array(z.int().nonnegative()).max(64).optional(),
})
export type ReplicaStartMessage = z.infer<typeof replicaStart>

/** Accepted, not finished: progress comes with the heartbeats, from `known_from_seq` on. */
export const replicaStarted = z.object({ known_from_seq: z.int().positive() })

/**
 * What to stop. A replica is named in full; whatever else names several, so it is fenced: replicas of a generation above
 * `not_after` were started later than this command was given and are left alone.
 */
const notAfter = { not_after: z.int() }
export const stopTarget = z.discriminatedUnion('what', [
  replicaRef.extend({ what: z.literal('replica') }),
  z.object({ what: z.literal('key'), key: label, ...notAfter }),
  z.object({ what: z.literal('model'), model_name: label, ...notAfter }),
  z.object({ what: z.literal('engine'), engine: label, ...notAfter }),
  z.object({ what: z.literal('all'), ...notAfter }),
])
export type StopTarget = z.infer<typeof stopTarget>

export const replicaStop = z.object({
  target: stopTarget,
  /** Do not wait for running requests. */
  force: z.boolean().default(false),
  /** Answer when they are gone, or after this long; 0 answers at once. */
  wait_ms: z.int().min(0).max(60_000).default(0),
})
export type ReplicaStopMessage = z.infer<typeof replicaStop>

/** The replicas concerned; none: there is no such replica here, so nothing was done. `gone`: its process has ended. */
export const replicaStopped = z.object({
  replicas: z.array(replicaRef.extend({ key: label, gone: z.boolean() })).max(10_000),
})
export type ReplicaStoppedMessage = z.infer<typeof replicaStopped>

/** Idempotent by `command_id`. Accepted at once; progress and outcome come with the heartbeats, as the engine's operation. */
const engineCommand = z.object({ command_id: z.string().min(1).max(100), engine: label })
/** Without archive and command the profile's own recipe is used. */
export const engineInstall = engineCommand.extend({
  archive: archive.optional(),
  command: z.array(z.string().max(4096)).min(1).max(100).optional(),
})
export type EngineInstallMessage = z.infer<typeof engineInstall>
export const engineDelete = engineCommand
export const engineAccepted = z.object({ engine: reportedEngine })
export const engineList = z.object({ engines: z.array(reportedEngine).max(200) })

/** Deletes what the node holds of a model's files. Refused while one of its replicas is there. */
export const modelDelete = z.object({ command_id: z.string().min(1).max(100), model_name: label })
export const modelDeleted = z.object({ files: z.int().nonnegative(), freed_bytes: z.int().nonnegative() })

/**
 * Fetches the files of a model to this node ahead of requests. The same command, by its id, begins it, continues it after a
 * restart of the worker, and reports its progress.
 */
export const modelPull = z.object({
  pull_id: z.string().min(1).max(100),
  model_name: label,
  source: longLabel.nullable(),
  options: replicaStart.shape.options,
})
export type ModelPullMessage = z.infer<typeof modelPull>

/** What the header of a model file on the node itself (`file:`) says. */
export const modelInspect = z.object({ source: longLabel, options: replicaStart.shape.options })
export const modelInspected = z.object({ payload_bytes: z.int().nonnegative(), header: modelHeader.nullable() })

/** A client of this gateway waits for a model that has no ready replica. Sent again every few seconds while it does. */
export const modelWanted = z.object({
  model_name: label,
  /** How long from now on the model is still wanted: a client that was told to come back is still waited for. */
  wanted_ms: z.int().positive().max(3_600_000),
})
export const modelWantedReply = loadStatus

/** Which cluster speaks. Control of the release before does not say. */
const fromCluster = { cluster_id: z.string().max(MOST_CLUSTER_ID).optional() }

/** The node was removed from the cluster: stop what runs and end. A worker of another cluster does not obey. */
export const nodeShutdown = z.object({ reason: prose, ...fromCluster })

/** Control hears this node and has no row of it: the node should ask a frontend for its state, and go on meanwhile. */
export const nodeUnknown = z.object(fromCluster)

export const route = z.object({
  replica_id: label,
  generation: z.int(),
  model_name: label,
  node_id: label,
  node_name: label,
  address: label,
  /** What the node's data port asks of a gateway. */
  data_key: label,
  /** The certificate by which its data port is known; without it the port is not encrypted. */
  tls_fingerprint: label.optional(),
  /** Free VRAM of the node when it last said, for choosing among equals; null when it has none or has not said. */
  available_vram: z.int().nonnegative().nullable(),
})
export type RouteMessage = z.infer<typeof route>

/** Of one engine. */
export const MOST_PATHS = 50

export const routedModel = z.object({
  name: label,
  engine: label,
  created_at: z.int(),
  route_policy: routePolicy,
  /** Its state in the cluster; only a `ready` model takes requests. */
  state: z.enum(['ready', 'starting', 'failed', 'stopped']),
  /** The paths that its engine answers, where these are known to be all. */
  serves: z.array(label).max(MOST_PATHS).optional(),
})
export type RoutedModelMessage = z.infer<typeof routedModel>

/** An API key as gateways check it: its sha256, and what it is good for. */
export const routedKey = z.object({
  id: label,
  key_hash: label,
  scopes: z.array(keyScope).max(10),
  /** Names of the models it may ask; null is all. */
  models: z.array(label).max(1000).nullable(),
  expires_at: z.int().nullable(),
})
export type RoutedKeyMessage = z.infer<typeof routedKey>

/** `feed` names one run of one leader: versions of different feeds are not comparable. */
const feedVersion = { feed: label, version: z.int().nonnegative(), ...fromCluster }

/** The whole table, as a gateway has it. */
export const routingSnapshot = z.object({
  ...feedVersion,
  models: longList(routedModel, MOST_SAVED),
  routes: longList(route, MOST_SAVED),
  keys: longList(routedKey, MOST_SAVED),
})
export type RoutingSnapshotMessage = z.infer<typeof routingSnapshot>

/**
 * A large table comes in parts, since a message has a limit: keys, then models, then routes. A gateway of the release before
 * takes keys and models of the first part only; what that release could serve fits there.
 */
export const routingPartRequest = z.object({ part: z.int().nonnegative() })
/** Parts of different versions do not belong together. */
export const routingPart = z.object({
  ...feedVersion,
  parts: z.int().positive(),
  models: longList(routedModel, MOST_LISTED),
  routes: longList(route, MOST_LISTED),
  keys: longList(routedKey, MOST_LISTED),
})
export type RoutingPartMessage = z.infer<typeof routingPart>

/** A frontend that leads. `since`, by its store's clock, and then `owner` and `feed` say which of two was first. */
export const leader = z.object({
  feed: label,
  owner: label,
  since: z.int(),
  /** Where the frontend listens, for people. */
  address: label,
})
export type LeaderMessage = z.infer<typeof leader>

/** Sent on every change, and now and then without one, so that a gateway that missed a delta notices the gap. */
export const routingDelta = z.object({
  ...feedVersion,
  /** The version this delta builds on; equal to `version` when nothing changed. */
  from_version: z.int().nonnegative(),
  models: longList(routedModel, MOST_LISTED).optional(),
  set: longList(route, MOST_LISTED),
  removed: longList(label, MOST_LISTED),
  keys: longList(routedKey, MOST_LISTED).optional(),
  /** Nodes that were heard in the last seconds: what they run needs no probe. */
  heard: longList(label, MOST_LISTED),
})
export type RoutingDeltaMessage = z.infer<typeof routingDelta>

/** One gateway's requests in flight, by replica; all that are not 0. A gateway that says nothing for 2 s has none. */
export const gatewayLoad = z.object({
  gateway: label,
  /** Grows by one with each report of a gateway's run. */
  seq: z.int().positive(),
  counts: longRecord(z.int().positive(), MOST_LISTED),
  /** Requests that wait for a turn, by model; all that are not 0. */
  waiting: longRecord(z.int().positive(), MOST_LISTED).optional(),
  /** Nodes that control hears and this gateway cannot connect to. Gateways of the release before never say. */
  unreachable: z
    .array(z.object({ node_id: label, node_name: label, address: label, why: label }))
    .max(100)
    .optional(),
})
export type GatewayLoadMessage = z.infer<typeof gatewayLoad>

/**
 * What one gateway has served since it began, for figures that people see: the next report makes up for a lost one. Every
 * second while requests end.
 */
export const gatewayTraffic = z.object({
  gateway: label,
  /** Grows by one with each report of a gateway's run. */
  seq: z.int().positive(),
  /**
   * By model. Of all requests that ended: how many, failed, milliseconds to the first byte and to the end, summed up. One
   * without a request for a minute is left out, and begins at 0 if it comes back; so is a replica.
   */
  models: longRecord(
    z.object({
      requests: z.int().nonnegative(),
      errors: z.int().nonnegative(),
      first_byte_ms: z.number().nonnegative(),
      duration_ms: z.number().nonnegative(),
    }),
    MOST_LISTED,
  ),
  /** Requests that ended, by the replica that had them last. */
  replicas: longRecord(z.int().nonnegative(), MOST_LISTED),
})
export type GatewayTrafficMessage = z.infer<typeof gatewayTraffic>

/** Asked of all gateways; the one that served the request answers. */
export const whyRequest = z.object({ request_id: label })

export const whyReply = z.object({ decision: decisionRecord })

/** A gateway asks for a certificate for its key, to show at data ports. Both are PEM. */
export const dataCertificate = z.object({ public_key: z.string().max(1000) })
export const dataCertified = z.object({ certificate: prose })

export const nothing = z.object({})
