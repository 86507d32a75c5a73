import { z } from 'zod'
import { MOST_CLUSTER_ID } from '../../core/lib/cluster-id.ts'
import { archive } from '../engine-profile.ts'
import { device } from '../hardware.ts'
import { keyScope } from '../key-scope.ts'
import { needSource } from '../need-source.ts'
import { replicaState } from '../replica-state.ts'
import { engineExit, measuredMemory, progress, reportedEngine } from '../reports.ts'
import { modelName, printable } from './names.ts'

/** Bodies and answers of the admin API: snake_case, the same names as in the store. */

const labelMap = z.record(z.string(), z.string())

export const nodeView = z.object({
  id: z.string(),
  name: z.string(),
  node_type: z.enum(['backend', 'agent']),
  status: z.enum(['pending', 'draining', 'healthy', 'unhealthy', 'offline']),
  /** The three facts behind the status. */
  approved: z.boolean(),
  desired: z.enum(['active', 'draining']),
  liveness: z.enum(['online', 'unreachable', 'offline']),
  liveness_since: z.int(),
  public_key: z.string(),
  address: z.string(),
  version: z.string(),
  labels: labelMap,
  label_sources: z.record(z.string(), z.enum(['admin', 'worker', 'auto'])),
  /** The effective number of slots, what the worker declared, and whether an admin has set another. */
  max_replicas_per_model: z.int(),
  max_replicas_declared: z.int(),
  max_replicas_per_model_manually_set: z.boolean(),
  /** Replicas that run although their slot is above the cap. */
  above_cap: z.int(),
  /** The effective cap as written, in bytes of this machine, what the worker declared, and whether an admin has set another. */
  vram_budget: z.string().nullable(),
  vram_budget_bytes: z.int().nullable(),
  vram_budget_declared: z.string().nullable(),
  vram_budget_manually_set: z.boolean(),
  /** What replicas may still hold within that cap, in bytes; null without one. The devices may have less free. */
  vram_budget_left: z.int().nullable(),
  gpu_vendor: z.string().nullable(),
  devices: z.array(device),
  total_vram: z.int(),
  available_vram: z.int().nullable(),
  /** Held for replicas on all devices together, until it is seen in use; and by device, in the order of `devices`. */
  reserved_vram: z.int(),
  reserved_vram_by_device: z.array(z.int()),
  reserved_ram: z.int(),
  total_ram: z.int().nullable(),
  available_ram: z.int().nullable(),
  total_disk: z.int().nullable(),
  available_disk: z.int().nullable(),
  model_count: z.int(),
  replica_count: z.int(),
  /** Requests that run on the node now, by its last heartbeat: while draining, what is left. */
  in_flight_count: z.int(),
  last_heartbeat: z.int().nullable(),
  registered_at: z.int(),
})
export type NodeView = z.infer<typeof nodeView>

/** PUT replaces the labels an admin has set, PATCH adds to them; null in a PATCH takes one away. */
export const labelsInput = labelMap
export const labelsPatch = z.record(z.string(), z.string().nullable())
export const labelsView = z.object({ labels: labelMap, label_sources: nodeView.shape.label_sources })

export const slotsInput = z.strictObject({
  value: z.int('must be a whole number').min(1, 'must be at least 1').max(1000),
})
export const budgetInput = z.strictObject({
  value: z.union([z.string(), z.int().positive()], 'expected text such as "80%" or "12GiB", or a number of bytes'),
})

export const replicaView = z.object({
  id: z.string(),
  node_id: z.string(),
  model_name: z.string(),
  replica_index: z.int(),
  generation: z.int(),
  revision: z.string(),
  state: replicaState,
  in_flight: z.int(),
  /** While it is installing or staging: how far it has come. */
  progress: progress.nullable(),
  error: z.string().nullable(),
  /** How its engine ended, if it did. */
  last_exit: engineExit.nullable(),
  /**
   * What is held for it and where that figure comes from: its measurement, once that has taken the claim's place. Null for
   * one from before there were claims.
   */
  claim: z
    .object({
      devices: z.array(z.object({ index: z.int(), bytes: z.int() })),
      ram: z.int(),
      disk: z.int(),
      source: z.enum([...needSource.options, 'measured']),
    })
    .nullable(),
  /** What it really takes. */
  measured: measuredMemory.nullable(),
  last_used_at: z.int().nullable(),
  ready_at: z.int().nullable(),
})
export type ReplicaView = z.infer<typeof replicaView>

/** Without an index all replicas of the model on the node. */
export const unloadInput = z.strictObject({
  model_name: modelName,
  replica_index: z.int().min(0).max(999).optional(),
  /** Do not let running requests finish first. */
  force: z.boolean().default(false),
})
export const unloaded = z.object({
  /** What is being stopped; `gone` when its process has ended already. */
  replicas: z.array(z.object({ id: z.string(), key: z.string(), gone: z.boolean() })),
  /** A rule asks for this model: it will be started again. */
  kept_by_rule: z.boolean(),
})
export type Unloaded = z.infer<typeof unloaded>

export const restartInput = z.strictObject({
  /** Do not let running requests finish first. */
  force: z.boolean().default(false),
})
export const restarted = z.object({
  key: z.string(),
  /** What follows, for a person. */
  text: z.string(),
})

export const deleteFilesInput = z.strictObject({ model_name: modelName })
export const filesDeleted = z.object({ files: z.int(), freed_bytes: z.int() })

export const backendView = reportedEngine
export type BackendView = z.infer<typeof backendView>

const engineName = z.string().min(1).max(100)
/** Without archive and command the recipe of the engine's profile is used. */
export const installInput = z
  .strictObject({
    engine: engineName,
    archive: archive.optional(),
    command: z.array(z.string().max(4096)).min(1).max(100).optional(),
  })
  .refine(({ archive, command }) => !archive || !command, { message: 'takes an archive or a command, not both' })
export const deleteBackendInput = z.strictObject({ engine: engineName })

/** Which lines of a replica's log. `after` is the number of the last line seen. */
export const logQuery = z.strictObject({
  after: z.coerce.number().int().min(0).optional(),
  limit: z.coerce.number().int().min(1).max(10_000).optional(),
  stream: z.enum(['stdout', 'stderr']).optional(),
  /** Text that a line must contain, whatever its case. */
  grep: z.string().max(500).optional(),
  follow: z.enum(['0', '1']).optional(),
})
export const logLine = z.object({
  /** Grows over all replicas of the node, so that it also orders and resumes merged logs. */
  seq: z.int().positive(),
  at: z.int(),
  replica: z.string(),
  stream: z.enum(['stdout', 'stderr']),
  text: z.string(),
})
export type LogLine = z.infer<typeof logLine>
export const logLines = z.object({ lines: z.array(logLine) })
/** One for each model that has logs on the node. */
export const logEntry = z.object({
  model_name: z.string(),
  replicas: z.array(
    z.object({ key: z.string(), lines: z.int(), first_seq: z.int(), last_seq: z.int(), last_at: z.int() }),
  ),
})
export const logEntries = z.array(logEntry)
export type LogEntry = z.infer<typeof logEntry>

export const tokenInput = z.strictObject({
  name: printable('What the token is for', 100).default('unnamed'),
  expires_in_s: z
    .int()
    .min(1)
    .max(10 * 365 * 86_400)
    .optional(),
  max_uses: z.int().min(1).max(1_000_000).optional(),
})
export type TokenInput = z.infer<typeof tokenInput>

export const tokenView = z.object({
  id: z.string(),
  name: z.string(),
  state: z.enum(['active', 'expired', 'used up', 'revoked']),
  created_at: z.int(),
  expires_at: z.int().nullable(),
  max_uses: z.int().nullable(),
  uses: z.int(),
  last_used_at: z.int().nullable(),
})
export type TokenView = z.infer<typeof tokenView>
/** Shown once, when it is made: only its hash is kept. */
export const tokenCreated = tokenView.extend({
  token: z.string(),
  /** The fingerprint of the frontend's self-signed certificate, for `worker --fingerprint`; null when a CA signed it. */
  fingerprint: z.string().nullable().optional(),
})
export type TokenCreated = z.infer<typeof tokenCreated>

export const keyInput = z.strictObject({
  name: printable('What the key is for', 100),
  scopes: z.array(keyScope).min(1).max(2).default(['inference']),
  /** The only models it may ask; without it all. */
  models: z.array(modelName).min(1).max(1000).optional(),
  expires_in_s: z
    .int()
    .min(1)
    .max(10 * 365 * 86_400)
    .optional(),
})
export type KeyInput = z.infer<typeof keyInput>

export const keyView = z.object({
  id: z.string(),
  name: z.string(),
  state: z.enum(['active', 'expired', 'revoked']),
  scopes: z.array(keyScope),
  models: z.array(z.string()).nullable(),
  created_at: z.int(),
  expires_at: z.int().nullable(),
  last_used_at: z.int().nullable(),
})
export type KeyView = z.infer<typeof keyView>
/** Shown once, when it is made: only its hash is kept. */
export const keyCreated = keyView.extend({ key: z.string() })
export type KeyCreated = z.infer<typeof keyCreated>

/** The admin key of a frontend, shown once; its file has it, too. */
export const adminKeyCreated = z.object({
  key: z.string(),
  /** How many sessions of the dashboard have ended with the old one. */
  ended_sessions: z.int(),
})
export type AdminKeyCreated = z.infer<typeof adminKeyCreated>

/** How long the key that is replaced still works, so that programs can be given the new one without a gap. */
export const rotateInput = z.strictObject({
  overlap_s: z
    .int()
    .min(0)
    .max(30 * 86_400)
    .default(86_400),
})

/** By what a bus at `tls://` is known. Since protocol 3. */
const busCertificate = {
  /** The CA (PEM) that vouches for it; without it those of the system. */
  bus_ca: z.string().optional(),
  /** What its certificate is made out to, when that is not the host in its URL. */
  bus_name: z.string().optional(),
}

/** A gateway process asks for its place on the bus. */
export const gatewayInput = z.strictObject({
  protocol: z.int(),
  public_key: z.string().regex(/^U[A-Z2-7]{55}$/, 'must be an nkey user public key'),
})
export const gatewayCredentials = z.object({
  gateway_id: z.string(),
  bus_url: z.string(),
  /** For a NATS server with accounts; ask again before it ends. */
  bus_jwt: z.string().nullable(),
  ...busCertificate,
  /** Of the cluster that answers; a frontend of the release before does not say. */
  cluster_id: z.string().max(MOST_CLUSTER_ID).optional(),
})
export type GatewayCredentials = z.infer<typeof gatewayCredentials>

export const eventView = z.object({
  /** Grows by one with each event: go on after the last one you have seen. */
  id: z.int(),
  at: z.int(),
  /** `admin`, `config` (what a frontend is configured with), `node <name>` or `control`. */
  actor: z.string(),
  /** Where the call came from that led to it; null for what the cluster does by itself. */
  address: z.string().nullable(),
  /** What happened, as `noun.verb`: node.approved, node.offline, token.revoked … */
  action: z.string(),
  node_id: z.string().nullable(),
  model_name: z.string().nullable(),
  reason: z.string(),
  data: z.record(z.string(), z.unknown()),
})
export type EventView = z.infer<typeof eventView>

/** After which event to go on; without it only what happens from now on. */
export const eventsQuery = z.object({
  after: z.coerce.number('the number of an event was expected').int().min(0).optional(),
})

/** `before` is the number of an event: those that came earlier. */
export const historyQuery = z.strictObject({
  node_id: z.string().max(100).optional(),
  model_name: z.string().max(200).optional(),
  before: z.coerce.number('the number of an event was expected').int().min(0).optional(),
  limit: z.coerce.number('a number was expected').int().min(1).max(500).default(100),
})

/** What is in a folder below the frontend's models folder, at any depth; paths are from that folder on. */
export const folderView = z.object({ files: z.array(z.object({ path: z.string(), size: z.int() })) })
export type FolderView = z.infer<typeof folderView>

/** A worker presents itself. The signature over the rest proves that it holds the key it names. */
export const nodeRegistration = z.strictObject({
  protocol: z.int(),
  name: printable('Name of the node', 100),
  node_type: z.enum(['backend', 'agent']),
  public_key: z.string().regex(/^U[A-Z2-7]{55}$/, 'must be an nkey user public key'),
  /** Where the data port listens. An empty host stands for the address that the registration comes from. */
  address: z
    .string()
    .max(300)
    .regex(/^.*:\d{1,5}$/, 'must be host:port'),
  version: z.string().max(100),
  boot_id: z.string().min(1).max(100),
  max_replicas_per_model: z.int().min(1).max(1000),
  vram_budget: z.string().max(50).nullable(),
  /** The certificate by which its data port is known, when that is encrypted. Since protocol 3. */
  tls_fingerprint: z
    .string()
    .regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: and 64 hexadecimal digits')
    .optional(),
  labels: labelMap,
  /** Labels that follow from the hardware. */
  auto_labels: labelMap,
  signed_at: z.int(),
})
export type NodeRegistration = z.infer<typeof nodeRegistration>

/** Which run of the worker says goodbye: word of it may come late, when the next one has registered. */
export const goodbye = z.strictObject({ boot_id: z.string().max(200) })

export const signedRegistration = z.strictObject({
  registration: nodeRegistration,
  signature: z.string().max(200),
  /** The node had another key until now, which signs the same: it stays the node that it was. */
  replaces: z
    .strictObject({ public_key: nodeRegistration.shape.public_key, signature: z.string().max(200) })
    .optional(),
})
export type SignedRegistration = z.infer<typeof signedRegistration>

/** What an approved node works with. */
export const nodeCredentials = z.object({
  bus_url: z.string(),
  /** For a NATS server with accounts: the node's own user, limited to its own subjects. */
  bus_jwt: z.string().nullable(),
  ...busCertificate,
  /** What gateways show at the node's data port. */
  data_key: z.string(),
  /** The CA (PEM) that vouches for gateways at the node's data port. Since protocol 3. */
  data_ca: z.string().optional(),
  heartbeat_period_ms: z.int(),
})
export type NodeCredentials = z.infer<typeof nodeCredentials>

/** Credentials are null until an admin has approved the node. */
export const registered = z.object({
  node_id: z.string(),
  name: z.string(),
  approved: z.boolean(),
  credentials: nodeCredentials.nullable(),
  /** Of the cluster that answers; a frontend of the release before does not say. */
  cluster_id: z.string().max(MOST_CLUSTER_ID).optional(),
})
export type Registered = z.infer<typeof registered>
