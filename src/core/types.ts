/** The nouns of the product as plain data. Stores and messages are parsed into these at the edge. */

export type Liveness = 'online' | 'unreachable' | 'offline'
export type Desired = 'active' | 'draining'
/** An agent is a member that runs no replicas. */
export type NodeType = 'backend' | 'agent'

export interface Node {
  id: string
  name: string
  /** Where the gateway reaches the node's data port, as host:port. */
  address: string
  approved: boolean
  desired: Desired
  liveness: Liveness
  livenessSinceMs: number
  /** One run of the worker's machine; empty after a graceful goodbye. */
  bootId: string
  /** Left gracefully: offline until it registers again. */
  saidGoodbye: boolean
  /** Since it registered in this boot: one that has only joined has not gone anywhere. */
  isHeard: boolean
  nodeType: NodeType
  /** Slots for each model: what an admin set, else what the worker declared. */
  maxReplicasPerModel: number
  /** Effective: what an admin set wins over the worker's word, that over what follows from the hardware. */
  labels: Readonly<Record<string, string>>
  /** Free VRAM of all its devices when it last said; null when it has none or has not said. */
  availableVram: number | null
  devices: readonly Device[]
  /** What replicas may hold on all devices together, in bytes; null is no cap. */
  vramBudget: number | null
  /** In bytes, as the worker last said; null when it never has. Disk is that of the folder with the models. */
  totalRam: number | null
  availableRam: number | null
  totalDisk: number | null
  availableDisk: number | null
  /** What replicas held that have ended since the memory was last read: the figures above still count it as taken. */
  freed: readonly Freed[]
  engines: Readonly<Record<string, NodeEngine>>
}

export interface Freed {
  replicaId: string
  devices: readonly DeviceBytes[]
  ram: number
}

export interface Device {
  index: number
  name: string
  totalVram: number
  /** When it was last read; null when it never could be. */
  availableVram: number | null
  /** It has no memory of its own and shares the machine's. */
  unified: boolean
}

/** An engine on one node. */
export interface NodeEngine {
  /** Why it cannot run there; null when it can, perhaps after it has been installed. */
  whyNot: string | null
  version: string | null
  /** When it takes its memory: as it loads, all that the device has at once, or as requests need it. */
  memory: 'on_load' | 'preallocated' | 'on_demand'
  uses: EngineUses
  /** The paths that it answers, where these are known to be all. */
  serves?: readonly string[]
}

/** What an engine takes of a node, whatever the model. */
export interface EngineUses {
  /** What it runs on: GPUs only, never one, or GPUs where there are some. */
  device: 'gpu' | 'cpu' | 'either'
  /** It takes this share of each device that it is given. `option` of a model changes it. */
  share?: { option: string; default: number } | undefined
  /** The option of a model that says over how many devices one replica is spread. */
  devicesOption?: string | undefined
  /** It takes this many bytes without any model file, and what the model's option of that name adds. */
  bytes?: number | undefined
  bytesOption?: string | undefined
}

export interface Model {
  name: string
  engine: string
  /** Where its files come from: `file:`, `https:`, `hf:`, `frontend:` or `bundled:`; null when the engine needs none. */
  source: string | null
  options: ModelOptions
  /** What a replica of it needs, if an admin has said so. */
  memory: ExplicitMemory | null
  /** Models that share this name are never put on one node. */
  antiAffinity: string | null
  /** Hash of the model's meaning: a replica of another revision no longer serves this model. */
  revision: string
}

/** In bytes: on its devices in all, and of the machine's memory. Without a device all of it is the machine's. */
export interface ExplicitMemory {
  vram: number
  ram: number
}

export type ModelOptions = Readonly<Record<string, string | number | boolean>>

/** How a request finds its replica. */
export const routePolicies = ['least_loaded', 'round_robin', 'session'] as const
export type RoutePolicy = (typeof routePolicies)[number]

/**
 * What the labels of a node must be, all of it: `key: value`, `key: [a, b]` for any of these, `key: "!value"` for
 * anything but that (or no such label), and a key `!key`, with an empty value, for no such label at all.
 */
export type Selector = Readonly<Record<string, string | readonly string[]>>

export interface Rule {
  modelName: string
  /** Empty is any node. */
  nodeSelector: Selector
  routePolicy: RoutePolicy
  minReplicas: number
  /** 0 = no cap. */
  maxReplicas: number
  /** Exactly one replica on every node that the selector matches; minimum and maximum are 0 then. */
  spreadAll: boolean
  /** Without a request for so long not one replica is kept; null keeps the last one. */
  scaleToZeroAfterMs: number | null
  /** Its source: an admin, or the configuration, which makes it again at every start of a frontend. */
  source: 'api' | 'config'
  /** Until then it is not tried again: it could not be met. Null when it is tried. */
  unsatisfiableUntilMs: number | null
  /** Passes in a row that found no room for it. */
  unsatisfiableTicks: number
}

/** In the order of a replica's life; `failed` is reached from any of them. */
export const replicaStates = [
  'reserved',
  'installing',
  'staging',
  'loading',
  'ready',
  'draining',
  'stopping',
  'failed',
] as const
export type ReplicaState = (typeof replicaStates)[number]

export interface Replica {
  id: string
  nodeId: string
  modelName: string
  replicaIndex: number
  /** Grows with every replica that takes the same slot, so that a late command never harms a newer one. */
  generation: number
  revision: string
  state: ReplicaState
  error: string | null
  /** Failed starts in a row in this slot. */
  failures: number
  retryAtMs: number | null
  /** The first heartbeat that must mention this replica; null while the worker has not accepted it. */
  knownFromSeq: number | null
  /** What is held for it; null for one from before there were claims. */
  claim: Claim | null
  /** What it really takes, as its worker last measured; null before that. */
  measured: Measured | null
  /** Requests that run on it, by its worker's word. */
  inFlight: number
  /** When it last had a request; null when it never had. */
  lastUsedMs: number | null
  readySinceMs: number | null
  /** Its start failed for want of memory. */
  outOfMemory: boolean
}

/** Where the figure of a need comes from, the most trusted first. */
export const needSources = ['explicit', 'learned', 'computed', 'unknown'] as const
export type NeedSource = (typeof needSources)[number]

/** Bytes of one device, by its index on the node. */
export interface DeviceBytes {
  index: number
  bytes: number
}

/** Held for a replica from its placement until its worker's measurements cover it or it is gone. */
export interface Claim {
  devices: readonly DeviceBytes[]
  ram: number
  disk: number
  source: NeedSource
  /** Its need is unknown: no other replica joins its devices (without any: its node) before it was measured. */
  alone: boolean
}

/** Peaks. `devices` is null when VRAM cannot be told apart by process. */
export interface Measured {
  /** Seen since it became ready. False: while it loaded, so there will be more; undefined: its worker does not say. */
  loaded?: boolean | undefined
  devices: readonly DeviceBytes[] | null
  ram: number
}

/** A wait for a model that no rule may ask for: by a request, or by an admin who loads it. */
export interface Demand {
  modelName: string
  sinceMs: number
  /** The wait has ended: a load that is still under way then is given up. */
  wantedUntilMs: number
}

/** What is known of a model's files, of one revision. */
export interface ModelFacts {
  modelName: string
  revision: string
  /** What a node fetches; null when it cannot be told. */
  payloadBytes: number | null
  /** What the header of its file says; null when it has none that we can read. */
  header: ModelHeader | null
}

/** Of a GGUF or safetensors header, as far as memory goes. Split files and a projector are summed up. */
export interface ModelHeader {
  format: 'gguf' | 'safetensors'
  architecture: string
  /** How its weights are stored: Q4_K_M, F16 …; null when it does not say. */
  quantisation: string | null
  /** Of all tensors, and of those that stay in the machine's memory however many layers are offloaded (embeddings). */
  weightsBytes: number
  hostBytes: number
  /** Of the projector for images or sound that goes with it. */
  projectorBytes: number
  layers: number
  embedding: number
  vocabulary: number
  /** What it was trained for. */
  context: number
  /** Elements of one token's key and value for each layer; 0 for a layer without a cache that grows (recurrent ones). */
  keyElements: readonly number[]
  valueElements: readonly number[]
  /** Of the layers that look back only so far; null when all look back to the beginning. */
  slidingWindow: { tokens: number; layers: readonly boolean[] } | null
  /** Bytes of state for one sequence that do not grow with the context (recurrent layers). */
  stateBytes: number
}

/** What replicas of a model took before. */
export interface LearnedMemory {
  modelName: string
  revision: string
  engineVersion: string | null
  /** `cpu`, or the name of the GPU. */
  deviceKind: string
  vram: number
  ram: number
  /** Seen at a replica that served; or asked for more than was there and must be more than this. */
  learnedFrom: 'measured' | 'out of memory'
}

/** How busy a model is, as far as the leader has heard. */
export interface ModelLoad {
  modelName: string
  /** The share of its replicas that were in use, averaged over the last seconds. */
  busy: number
  /** Requests that wait for a turn. */
  waiting: number
}

/** Everything a decision may look at. Time is part of it. */
export interface World {
  nowMs: number
  nodes: readonly Node[]
  models: readonly Model[]
  rules: readonly Rule[]
  replicas: readonly Replica[]
  demands: readonly Demand[]
  facts: readonly ModelFacts[]
  learned: readonly LearnedMemory[]
  /** Of models that are asked; a new leader has heard nothing yet. */
  loads?: readonly ModelLoad[]
  /** Nodes that had gone by then are gone for good, however many they were: an admin has said so. */
  lossAcceptedMs?: number | null
  /** Since when the leader has heard heartbeats without a break; absent when that is long ago. */
  heardSinceMs?: number
}
