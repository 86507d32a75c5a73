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
  nodeType: NodeType
  /** Slots for each model: what an admin set, else what the worker declared. */
  maxReplicasPerModel: number
  /** Effective: what an admin set wins over the worker's word, that over what follows from the hardware. */
  labels: Readonly<Record<string, string>>
  /** Free VRAM of all its devices when it last said; null when it has none or has not said. */
  availableVram: number | null
  /** Why each engine that the node knows cannot run on it; null when it can. */
  engines: Readonly<Record<string, string | null>>
}

export interface Model {
  name: string
  engine: string
  /** Where its files come from: `file:`, `https:`, `hf:` or `frontend:`; null when the engine needs none. */
  source: string | null
  options: ModelOptions
  /** Hash of the model's meaning: a replica of another revision no longer serves this model. */
  revision: string
}

export type ModelOptions = Readonly<Record<string, string | number | boolean>>

/** How a request finds its replica. */
export const routePolicies = ['least_loaded', 'round_robin', 'session'] as const
export type RoutePolicy = (typeof routePolicies)[number]

export interface Rule {
  modelName: string
  /** Labels that a node must have, all of them; none means any node. */
  nodeSelector: Readonly<Record<string, string>>
  routePolicy: RoutePolicy
  minReplicas: number
  /** 0 = no cap. */
  maxReplicas: number
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
}

/** Everything a decision may look at. Time is part of it. */
export interface World {
  nowMs: number
  nodes: readonly Node[]
  models: readonly Model[]
  rules: readonly Rule[]
  replicas: readonly Replica[]
}
