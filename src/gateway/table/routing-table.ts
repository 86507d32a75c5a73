import type {
  RoutedKeyMessage,
  RoutedModelMessage,
  RouteMessage,
  RoutingDeltaMessage,
  RoutingSnapshotMessage,
} from '../../api/bus/messages.ts'
import { LiveRoutes, type RouteLoad } from '../../core/routing/live-routes.ts'
import type { Ask } from '../../core/routing/policies.ts'
import type { Route } from '../../core/routing/table.ts'
import type { RoutePolicy } from '../../core/types.ts'

/** A route in the gateway: where to send requests, and the key that the node's data port requires. */
export interface LiveRoute extends Route {
  dataKey: string
  /** The fingerprint of the data port's certificate; without it the data port is not encrypted. */
  tlsFingerprint?: string | undefined
}

export interface ServedModel {
  name: string
  engine: string
  createdAtMs: number
  routePolicy: RoutePolicy
  state: RoutedModelMessage['state']
  /** The only paths that its engine serves; undefined when it may serve any. */
  serves: ReadonlySet<string> | undefined
}

/** Identifies one run of a replica. */
export function routeKey({ replicaId, generation }: Pick<LiveRoute, 'replicaId' | 'generation'>): string {
  return `${generation} ${replicaId}`
}

/** Times of nodes heard longer ago than this are dropped, so that gone nodes do not pile up. */
const HEARD_KEPT_MS = 5 * 60_000

/** The routing table in memory, from one snapshot and the deltas after it. Nothing on the request path leaves this process. */
export class LiveTable {
  #feed: string | undefined
  #version = 0
  #models = new Map<string, ServedModel>()
  #keys = new Map<string, RoutedKeyMessage>()
  readonly #routes = new LiveRoutes<LiveRoute>()
  /** When each node was last heard, longest ago first. */
  readonly #heard = new Map<string, number>()
  readonly #onChange = new Set<() => void>()

  hasSnapshot(): boolean {
    return this.#feed !== undefined
  }

  models(): ServedModel[] {
    return [...this.#models.values()]
  }

  model(name: string): ServedModel | undefined {
    return this.#models.get(name)
  }

  routesOf(modelName: string): readonly LiveRoute[] {
    return this.#routes.routesOf(modelName)
  }

  route(replicaId: string): LiveRoute | undefined {
    return this.#routes.route(replicaId)
  }

  /** The replica that the model's policy picks, except those that are out. Call `begin` before any `await`. */
  pick(modelName: string, ask: Ask, isOut: (route: LiveRoute) => boolean): LiveRoute | undefined {
    const policy = this.#models.get(modelName)?.routePolicy ?? 'least_loaded'
    return this.#routes.pick(modelName, policy, ask, isOut)
  }

  /** The least loaded replicas in order, for display. */
  ranked(modelName: string, most: number): LiveRoute[] {
    return this.#routes.ranked(modelName, most)
  }

  /** Counts a request as in flight; the returned function ends that, once. */
  begin(route: LiveRoute, nowMs: number): () => void {
    return this.#routes.begin(route, nowMs)
  }

  loadOf(route: LiveRoute): RouteLoad {
    return this.#routes.loadOf(route)
  }

  /** This gateway's requests in flight by replica, without zeros. */
  ownCounts(): Record<string, number> {
    return this.#routes.ownCounts()
  }

  /** Replaces the counts of all other gateways' requests in flight, by replica. */
  setElsewhere(counts: ReadonlyMap<string, number>): void {
    this.#routes.setElsewhere(counts)
  }

  keyByHash(hash: string): RoutedKeyMessage | undefined {
    return this.#keys.get(hash)
  }

  hasKeys(): boolean {
    return this.#keys.size > 0
  }

  /** When control last reported that it had heard a node. */
  heardAtMs(nodeId: string): number | undefined {
    return this.#heard.get(nodeId)
  }

  /** Calls back after each change of models or routes; the returned function ends that. */
  onChange(callback: () => void): () => void {
    this.#onChange.add(callback)
    return () => void this.#onChange.delete(callback)
  }

  /** The table as a message, from which `replace` makes it again. */
  snapshot(): RoutingSnapshotMessage | undefined {
    if (this.#feed === undefined) return undefined
    return {
      feed: this.#feed,
      version: this.#version,
      models: this.models().map(toModelMessage),
      routes: this.#routes.all().map(toRouteMessage),
      keys: [...this.#keys.values()],
    }
  }

  replace(snapshot: RoutingSnapshotMessage): void {
    // A delta may have overtaken the snapshot that was asked for before it.
    if (snapshot.feed === this.#feed && snapshot.version < this.#version) return
    this.#feed = snapshot.feed
    this.#version = snapshot.version
    this.#setModels(snapshot.models)
    this.#setKeys(snapshot.keys)
    this.#routes.replace(snapshot.routes.map(toRoute))
    this.#changed()
  }

  /** False when a delta was missed, or another leader sent it: a new snapshot is needed. */
  apply(delta: RoutingDeltaMessage, nowMs: number): boolean {
    // The heard nodes are current, whatever the version of the delta.
    this.#hear(delta.heard, nowMs)
    // The first delta of a feed builds on nothing, so it holds everything.
    if (delta.from_version === 0 && delta.feed !== this.#feed) {
      const { feed, version, models = [], set: routes, keys = [] } = delta
      this.replace({ feed, version, models, routes, keys })
      return true
    }
    if (delta.feed !== this.#feed || delta.from_version > this.#version) return false
    // A snapshot newer than the delta already contains it.
    if (delta.version <= this.#version) return true
    this.#version = delta.version
    if (delta.models) this.#setModels(delta.models)
    if (delta.keys) this.#setKeys(delta.keys)
    for (const route of delta.set) this.#routes.set(toRoute(route))
    for (const id of delta.removed) this.#routes.remove(id)
    this.#changed()
    return true
  }

  #changed(): void {
    for (const callback of this.#onChange) callback()
  }

  #setModels(models: readonly RoutedModelMessage[]): void {
    this.#models = new Map(models.map((model) => [model.name, toModel(model)]))
  }

  #setKeys(keys: readonly RoutedKeyMessage[]): void {
    this.#keys = new Map(keys.map((key) => [key.key_hash, key]))
  }

  #hear(nodeIds: readonly string[], nowMs: number): void {
    for (const id of nodeIds) {
      this.#heard.delete(id)
      this.#heard.set(id, nowMs)
    }
    for (const [id, heardMs] of this.#heard) {
      if (nowMs - heardMs <= HEARD_KEPT_MS) return
      this.#heard.delete(id)
    }
  }
}

function toModel({ name, engine, created_at, route_policy, state, serves }: RoutedModelMessage): ServedModel {
  const paths = serves && new Set(serves)
  return { name, engine, createdAtMs: created_at, routePolicy: route_policy, state, serves: paths }
}

function toModelMessage({ name, engine, createdAtMs, routePolicy, state, serves }: ServedModel): RoutedModelMessage {
  const message = { name, engine, created_at: createdAtMs, route_policy: routePolicy, state }
  return serves ? { ...message, serves: [...serves] } : message
}

function toRoute(route: RouteMessage): LiveRoute {
  return {
    replicaId: route.replica_id,
    generation: route.generation,
    modelName: route.model_name,
    nodeId: route.node_id,
    nodeName: route.node_name,
    address: route.address,
    dataKey: route.data_key,
    tlsFingerprint: route.tls_fingerprint,
    availableVram: route.available_vram,
  }
}

function toRouteMessage(route: LiveRoute): RouteMessage {
  return {
    replica_id: route.replicaId,
    generation: route.generation,
    model_name: route.modelName,
    node_id: route.nodeId,
    node_name: route.nodeName,
    address: route.address,
    data_key: route.dataKey,
    tls_fingerprint: route.tlsFingerprint,
    available_vram: route.availableVram,
  }
}
