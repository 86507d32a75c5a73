import { randomUUID } from 'node:crypto'
import type {
  RoutedKeyMessage,
  RoutedModelMessage,
  RouteMessage,
  RoutingDeltaMessage,
  RoutingPartMessage,
} from '../api/bus/messages.ts'
import { routableReplicas } from '../core/routing/table.ts'
import type { StoredWorld } from '../store/world.ts'
import { dataKeyOf } from './data-key.ts'
import { modelState } from './model-state.ts'

/** A node that was heard this recently needs no probe: three heartbeats, as for its liveness. */
const HEARD_WITHIN_MS = 15_000
/** Free VRAM changes with every heartbeat; in steps of this much it hardly ever changes the table. */
const VRAM_STEP = 2 ** 30
/** In one message, of which a bus takes 1 MiB: a route has about 430 bytes. */
const MOST_ROUTES = 2000

/** The routing table as the leader tells it to the gateways: a snapshot for who asks, deltas for who has one. */
export class RoutingFeed {
  readonly #feed = randomUUID()
  readonly #clusterSecret: string
  #version = 0
  #models: RoutedModelMessage[] = []
  #routes = new Map<string, RouteMessage>()
  #keys: readonly RoutedKeyMessage[] = []

  constructor(clusterSecret: string) {
    this.#clusterSecret = clusterSecret
  }

  /** Takes in a new world and the keys that work in it; the delta says what is different, perhaps nothing. */
  update(world: StoredWorld, keys: readonly RoutedKeyMessage[]): RoutingDeltaMessage {
    const routes = new Map(this.#routesOf(world).map((route) => [route.replica_id, route]))
    const models = modelsOf(world, routes.values())
    const set = [...routes.values()].filter((route) => !isSame(route, this.#routes.get(route.replica_id)))
    const removed = [...this.#routes.keys()].filter((id) => !routes.has(id))
    const modelsChanged = !isSame(models, this.#models)
    const keysChanged = !isSame(keys, this.#keys)
    const fromVersion = this.#version
    if (set.length + removed.length > 0 || modelsChanged || keysChanged) this.#version += 1
    this.#models = models
    this.#routes = routes
    this.#keys = keys
    // Too much for one message: a delta that fits nobody makes every gateway ask for the table, which comes in parts.
    const isTooLarge = set.length + removed.length > MOST_ROUTES
    return {
      feed: this.#feed,
      from_version: isTooLarge ? this.#version : fromVersion,
      version: this.#version,
      ...(modelsChanged && !isTooLarge ? { models } : {}),
      set: isTooLarge ? [] : set,
      removed: isTooLarge ? [] : removed,
      ...(keysChanged && !isTooLarge ? { keys: [...keys] } : {}),
      heard: heardNodes(world),
    }
  }

  snapshot(part: number): RoutingPartMessage {
    const routes = [...this.#routes.values()]
    return {
      feed: this.#feed,
      version: this.#version,
      parts: Math.max(1, Math.ceil(routes.length / MOST_ROUTES)),
      models: part === 0 ? this.#models : [],
      routes: routes.slice(part * MOST_ROUTES, (part + 1) * MOST_ROUTES),
      keys: part === 0 ? [...this.#keys] : [],
    }
  }

  #routesOf({ models, nodes, replicas, rules }: StoredWorld): RouteMessage[] {
    const fingerprints = new Map(nodes.map(({ id, tlsFingerprint }) => [id, tlsFingerprint]))
    return routableReplicas(models, nodes, replicas, rules).map((route) => ({
      replica_id: route.replicaId,
      generation: route.generation,
      model_name: route.modelName,
      node_id: route.nodeId,
      node_name: route.nodeName,
      address: route.address,
      data_key: dataKeyOf(this.#clusterSecret, route.nodeId),
      ...fingerprintOf(fingerprints.get(route.nodeId)),
      available_vram: inSteps(route.availableVram),
    }))
  }
}

function fingerprintOf(fingerprint: string | null | undefined): Pick<RouteMessage, 'tls_fingerprint'> {
  return fingerprint ? { tls_fingerprint: fingerprint } : {}
}

function inSteps(vram: number | null): number | null {
  return vram === null ? null : Math.floor(vram / VRAM_STEP) * VRAM_STEP
}

function modelsOf(world: StoredWorld, routes: Iterable<RouteMessage>): RoutedModelMessage[] {
  const policies = new Map(world.rules.map(({ modelName, routePolicy }) => [modelName, routePolicy]))
  const served = new Set([...routes].map((route) => route.model_name))
  const replicas = Map.groupBy(world.replicas, ({ modelName }) => modelName)
  return world.models.map(({ name, engine, createdMs, revision }) => ({
    name,
    engine,
    created_at: createdMs,
    route_policy: policies.get(name) ?? 'least_loaded',
    state: modelState({ revision }, served.has(name), replicas.get(name) ?? []),
  }))
}

function heardNodes({ nowMs, nodes }: StoredWorld): string[] {
  return nodes.flatMap(({ id, lastHeartbeatMs }) =>
    lastHeartbeatMs !== null && nowMs - lastHeartbeatMs <= HEARD_WITHIN_MS ? [id] : [],
  )
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
