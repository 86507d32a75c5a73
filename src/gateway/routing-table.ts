import type { RouteMessage, RoutingDeltaMessage, RoutingSnapshotMessage } from '../api/bus/messages.ts'
import type { RouteLoad } from '../core/routing/pick.ts'
import type { Route } from '../core/routing/table.ts'

/** A route as the gateway holds it: where to send, what to show, and how busy it is. */
export interface LiveRoute extends Route {
  dataKey: string
}

export interface ServedModel {
  name: string
  engine: string
  createdAtMs: number
}

/** The routing table in memory, from one snapshot and the deltas after it. Nothing on the request path leaves this process. */
export class LiveTable {
  #feed: string | undefined
  #version = 0
  #models = new Map<string, ServedModel>()
  #routes = new Map<string, LiveRoute>()
  #byModel = new Map<string, LiveRoute[]>()
  readonly #loads = new Map<string, RouteLoad>()

  hasSnapshot(): boolean {
    return this.#feed !== undefined
  }

  models(): ServedModel[] {
    return [...this.#models.values()]
  }

  hasModel(name: string): boolean {
    return this.#models.has(name)
  }

  routesOf(modelName: string): readonly LiveRoute[] {
    return this.#byModel.get(modelName) ?? []
  }

  loadOf(route: Route): RouteLoad {
    return this.#loads.get(route.replicaId) ?? { inFlight: 0, lastUsedMs: 0 }
  }

  /** Counts a request at dispatch; the returned function gives it back, once. */
  begin(route: Route, nowMs: number): () => void {
    const load = this.#loads.get(route.replicaId) ?? { inFlight: 0, lastUsedMs: 0 }
    this.#loads.set(route.replicaId, load)
    load.inFlight += 1
    load.lastUsedMs = nowMs
    let open = true
    return () => {
      if (!open) return
      open = false
      load.inFlight -= 1
      if (load.inFlight === 0 && !this.#routes.has(route.replicaId)) this.#loads.delete(route.replicaId)
    }
  }

  replace(snapshot: RoutingSnapshotMessage): void {
    // A delta may have overtaken the snapshot that was asked for before it.
    if (snapshot.feed === this.#feed && snapshot.version < this.#version) return
    this.#feed = snapshot.feed
    this.#version = snapshot.version
    this.#setModels(snapshot.models)
    this.#routes = new Map(snapshot.routes.map((route) => [route.replica_id, toRoute(route)]))
    this.#index()
  }

  /** False when a delta was missed or another leader speaks: a new snapshot is needed. */
  apply(delta: RoutingDeltaMessage): boolean {
    // The first delta of a feed builds on nothing, so it holds everything.
    if (delta.from_version === 0 && delta.feed !== this.#feed) {
      this.replace({ feed: delta.feed, version: delta.version, models: delta.models ?? [], routes: delta.set })
      return true
    }
    if (delta.feed !== this.#feed || delta.from_version > this.#version) return false
    // A snapshot that is newer than a delta already holds what it says.
    if (delta.version <= this.#version) return true
    this.#version = delta.version
    if (delta.models) this.#setModels(delta.models)
    for (const route of delta.set) this.#routes.set(route.replica_id, toRoute(route))
    for (const id of delta.removed) this.#routes.delete(id)
    this.#index()
    return true
  }

  #setModels(models: RoutingSnapshotMessage['models']): void {
    this.#models = new Map(
      models.map(({ name, engine, created_at: createdAtMs }) => [name, { name, engine, createdAtMs }]),
    )
  }

  #index(): void {
    this.#byModel = Map.groupBy(this.#routes.values(), (route) => route.modelName)
    for (const [id, load] of this.#loads) if (load.inFlight === 0 && !this.#routes.has(id)) this.#loads.delete(id)
  }
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
  }
}
