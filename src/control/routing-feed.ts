import { randomUUID } from 'node:crypto'
import type { RouteMessage, RoutingDeltaMessage, RoutingSnapshotMessage } from '../api/bus/messages.ts'
import { routableReplicas } from '../core/routing/table.ts'
import type { StoredWorld } from '../store/world.ts'
import { dataKeyOf } from './data-key.ts'

/** The routing table as the leader tells it to the gateways: a snapshot for who asks, deltas for who has one. */
export class RoutingFeed {
  readonly #feed = randomUUID()
  readonly #clusterSecret: string
  #version = 0
  #models: RoutingSnapshotMessage['models'] = []
  #routes = new Map<string, RouteMessage>()

  constructor(clusterSecret: string) {
    this.#clusterSecret = clusterSecret
  }

  /** Takes in a new world; the delta says what is different, perhaps nothing. */
  update(world: StoredWorld): RoutingDeltaMessage {
    const models = world.models.map(({ name, engine, created_at }) => ({ name, engine, created_at }))
    const routes = new Map(this.#routesOf(world).map((route) => [route.replica_id, route]))
    const set = [...routes.values()].filter((route) => !isSame(route, this.#routes.get(route.replica_id)))
    const removed = [...this.#routes.keys()].filter((id) => !routes.has(id))
    const modelsChanged = !isSame(models, this.#models)
    const fromVersion = this.#version
    if (set.length + removed.length > 0 || modelsChanged) this.#version += 1
    this.#models = models
    this.#routes = routes
    return {
      feed: this.#feed,
      from_version: fromVersion,
      version: this.#version,
      ...(modelsChanged ? { models } : {}),
      set,
      removed,
    }
  }

  snapshot(): RoutingSnapshotMessage {
    return { feed: this.#feed, version: this.#version, models: this.#models, routes: [...this.#routes.values()] }
  }

  #routesOf(world: StoredWorld): RouteMessage[] {
    return routableReplicas(world.models, world.nodes, world.replicas).map((route) => ({
      replica_id: route.replicaId,
      generation: route.generation,
      model_name: route.modelName,
      node_id: route.nodeId,
      node_name: route.nodeName,
      address: route.address,
      data_key: dataKeyOf(this.#clusterSecret, route.nodeId),
    }))
  }
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
