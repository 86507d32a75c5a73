import { randomUUID } from 'node:crypto'
import {
  MOST_PATHS,
  type RoutedKeyMessage,
  type RoutedModelMessage,
  type RouteMessage,
  type RoutingDeltaMessage,
  type RoutingPartMessage,
} from '../../api/bus/messages.ts'
import { servedPaths } from '../../core/routing/served-paths.ts'
import { routableReplicas, type Route } from '../../core/routing/table.ts'
import type { StoredNode } from '../../store/nouns/nodes.ts'
import type { StoredWorld } from '../../store/world/world.ts'
import { dataKeyOf } from '../workers/data-key.ts'
import { modelState } from '../../core/explain/model-state.ts'
import { bytesOf, cutTable, MOST_PART_BYTES, type RoutingPart } from './routing-parts.ts'

/** A node that was heard this recently needs no probe: by default three heartbeats, as for its liveness. */
const HEARD_WITHIN_MS = 15_000
/** Free VRAM changes with every heartbeat; in steps of this much it hardly ever changes the table. */
const VRAM_STEP = 2 ** 30
/** How often gateways are told which nodes were heard; they take such a node to be alive for 30 s. */
const HEARD_EVERY_MS = 10_000
/** Of one delta: about 39 bytes each. */
const MOST_HEARD = 20_000

/** The routing table as the leader sends it to the gateways: a snapshot on request, then deltas. */
export class RoutingFeed {
  readonly #feed = randomUUID()
  readonly #clusterSecret: string
  readonly #heardWithinMs: number
  /** Which cluster speaks. */
  readonly #from: { cluster_id?: string }
  #version = 0
  #models: RoutedModelMessage[] = []
  #routes = new Map<string, RouteMessage>()
  #keys: readonly RoutedKeyMessage[] = []
  /** The table of this version, cut for messages; made when a gateway asks. */
  #parts: RoutingPart[] | undefined
  /** What the routes and models were made from. */
  #madeFrom: Pick<StoredWorld, 'models' | 'nodes' | 'replicas' | 'rules'> | undefined
  #heardToldMs = Number.NEGATIVE_INFINITY
  /** When nodes were last heard, if later than their rows say: a routine heartbeat does not make a turn read the row again. */
  readonly #heardMs = new Map<string, number>()
  readonly #filled = Promise.withResolvers<void>()

  constructor(clusterSecret: string, heardWithinMs = HEARD_WITHIN_MS, clusterId?: string) {
    this.#from = clusterId === undefined ? {} : { cluster_id: clusterId }
    this.#clusterSecret = clusterSecret
    this.#heardWithinMs = heardWithinMs
  }

  /** There is a world to send. Before its first turn a leader would send gateways an empty table. */
  get filled(): Promise<void> {
    return this.#filled.promise
  }

  /** Takes in a new world and the keys that work in it; the delta says what is different, perhaps nothing. */
  update(world: StoredWorld, keys: readonly RoutedKeyMessage[]): RoutingDeltaMessage {
    const { set, removed, modelsChanged } = this.#redraw(world)
    const keysChanged = !isSame(keys, this.#keys)
    const fromVersion = this.#version
    this.#keys = keys
    if (set.length + removed.length > 0 || modelsChanged || keysChanged) {
      this.#version += 1
      this.#parts = undefined
    }
    this.#filled.resolve()
    const heard = this.#heard(world)
    const delta = {
      feed: this.#feed,
      ...this.#from,
      from_version: fromVersion,
      version: this.#version,
      ...(modelsChanged ? { models: this.#models } : {}),
      set,
      removed,
      ...(keysChanged ? { keys: [...keys] } : {}),
      heard,
    }
    if (this.#version === fromVersion || bytesOf(delta) <= MOST_PART_BYTES) return delta
    // Too much for one message: a delta that fits no table makes every gateway fetch the table, which comes in parts.
    const version = this.#version
    return { feed: this.#feed, ...this.#from, from_version: version, version, set: [], removed: [], heard }
  }

  /** These heartbeats are in the store. */
  hear(heartbeats: readonly { nodeId: string; heardMs: number }[]): void {
    for (const { nodeId, heardMs } of heartbeats) this.#heardMs.set(nodeId, heardMs)
  }

  /** A part that is not there is empty: it is of another version than the asker read of. */
  snapshot(part: number): RoutingPartMessage {
    this.#parts ??= cutTable({ keys: this.#keys, models: this.#models, routes: this.#routes.values() })
    const { length } = this.#parts
    const found = this.#parts[part] ?? { keys: [], models: [], routes: [] }
    return { feed: this.#feed, ...this.#from, version: this.#version, parts: length, ...found }
  }

  /** The difference that a world makes. When its rows are the same objects, there is none and nothing is compared. */
  #redraw(world: StoredWorld): { set: RouteMessage[]; removed: string[]; modelsChanged: boolean } {
    const { models, nodes, replicas, rules } = world
    const from = this.#madeFrom
    this.#madeFrom = { models, nodes, replicas, rules }
    const isSameWorld =
      from?.models === models && from.nodes === nodes && from.replicas === replicas && from.rules === rules
    if (isSameWorld) return { set: [], removed: [], modelsChanged: false }
    const before = this.#routes
    const set: RouteMessage[] = []
    this.#routes = new Map()
    const fingerprints = new Map(nodes.map(({ id, tlsFingerprint }) => [id, tlsFingerprint]))
    for (const route of routableReplicas(models, nodes, replicas, rules)) {
      const told = before.get(route.replicaId)
      const fingerprint = fingerprints.get(route.nodeId) ?? null
      const now = told && isAsTold(route, fingerprint, told) ? told : this.#toMessage(route, fingerprint)
      if (now !== told) set.push(now)
      this.#routes.set(route.replicaId, now)
    }
    const removed = [...before.keys()].filter((id) => !this.#routes.has(id))
    const now = modelsOf(world, this.#routes.values())
    const modelsChanged = !isSame(now, this.#models)
    this.#models = now
    return { set, removed, modelsChanged }
  }

  #toMessage(route: Route, fingerprint: string | null): RouteMessage {
    return {
      replica_id: route.replicaId,
      generation: route.generation,
      model_name: route.modelName,
      node_id: route.nodeId,
      node_name: route.nodeName,
      address: route.address,
      data_key: dataKeyOf(this.#clusterSecret, route.nodeId),
      ...fingerprintOf(fingerprint),
      available_vram: inSteps(route.availableVram),
    }
  }

  /** The ids of all nodes are the most of a delta in a large cluster: not every delta has them. */
  #heard(world: StoredWorld): string[] {
    const sinceMs = world.nowMs - this.#heardToldMs
    // A clock that was set back must not silence us.
    if (sinceMs >= 0 && sinceMs < HEARD_EVERY_MS) return []
    this.#heardToldMs = world.nowMs
    const isHeard = ({ id, lastHeartbeatMs }: StoredNode): boolean =>
      world.nowMs - Math.max(lastHeartbeatMs ?? -Infinity, this.#heardMs.get(id) ?? -Infinity) <= this.#heardWithinMs
    const heard = world.nodes
      .filter(isHeard)
      .slice(0, MOST_HEARD)
      .map(({ id }) => id)
    if (this.#heardMs.size > world.nodes.length) this.#forgetOthers(world)
    return heard
  }

  #forgetOthers({ nodes }: StoredWorld): void {
    const ids = new Set(nodes.map(({ id }) => id))
    for (const id of this.#heardMs.keys()) if (!ids.has(id)) this.#heardMs.delete(id)
  }
}

/** The data key is that of the node. */
function isAsTold(route: Route, fingerprint: string | null, told: RouteMessage): boolean {
  return (
    route.generation === told.generation &&
    route.modelName === told.model_name &&
    route.nodeId === told.node_id &&
    route.nodeName === told.node_name &&
    route.address === told.address &&
    fingerprint === (told.tls_fingerprint ?? null) &&
    inSteps(route.availableVram) === told.available_vram
  )
}

function fingerprintOf(fingerprint: string | null): Pick<RouteMessage, 'tls_fingerprint'> {
  return fingerprint ? { tls_fingerprint: fingerprint } : {}
}

function inSteps(vram: number | null): number | null {
  return vram === null ? null : Math.floor(vram / VRAM_STEP) * VRAM_STEP
}

function modelsOf(world: StoredWorld, routes: Iterable<RouteMessage>): RoutedModelMessage[] {
  const policies = new Map(world.rules.map(({ modelName, routePolicy }) => [modelName, routePolicy]))
  const served = new Set([...routes].map((route) => route.model_name))
  const replicas = Map.groupBy(world.replicas, ({ modelName }) => modelName)
  const engines = new Set(world.models.map(({ engine }) => engine))
  const paths = new Map([...engines].map((engine) => [engine, pathsOf(engine, world)]))
  return world.models.map(({ name, engine, createdMs, revision }) => ({
    name,
    engine,
    created_at: createdMs,
    route_policy: policies.get(name) ?? 'least_loaded',
    state: modelState({ revision }, served.has(name), replicas.get(name) ?? []),
    ...paths.get(engine),
  }))
}

/** Paths that are longer are told of no engine: every model of it repeats them. */
const MOST_PATH_CHARS = 100

/** Where it is known and fits into the message. */
function pathsOf(engine: string, { nodes }: StoredWorld): Pick<RoutedModelMessage, 'serves'> {
  const serves = servedPaths(engine, nodes)
  const isShort = serves && serves.length <= MOST_PATHS && serves.every(({ length }) => length <= MOST_PATH_CHARS)
  return isShort ? { serves } : {}
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
