import type { RoutePolicy } from '../types.ts'
import { hash32 } from './hash.ts'
import { MOST_USES, type Candidate } from './load-order.ts'
import { ModelRoutes } from './model-routes.ts'
import { choose, type Ask } from './policies.ts'
import type { Route } from './table.ts'

export interface RouteLoad {
  here: number
  elsewhere: number
  /** When this gateway last sent it a request; undefined when it never did. */
  lastUsedMs: number | undefined
}

/** One of ours: with the routes of its model while it is listed, so that counting looks nothing up. */
interface Counted<R extends Route> extends Candidate<R> {
  home: ModelRoutes<R> | undefined
}

/**
 * All routes and their load. A load belongs to one generation of one replica. It outlives its route for as long as
 * requests run, so that a route that comes back finds its count, and it is forgotten with the last of them.
 */
export class LiveRoutes<R extends Route> {
  readonly #listed = new Map<string, Counted<R>>()
  /** No longer listed, and still with requests of ours: by id and generation. */
  readonly #leaving = new Map<string, Counted<R>>()
  readonly #byModel = new Map<string, ModelRoutes<R>>()
  #elsewhere: ReadonlyMap<string, number> = new Map()
  #uses = 0
  /** The last pick, which is mostly the one that `begin` names next. */
  #picked: Counted<R> | undefined
  readonly #mostUses: number

  /** Uses are numbered anew after so many. */
  constructor(mostUses = MOST_USES) {
    this.#mostUses = mostUses
  }

  all(): R[] {
    return Array.from(this.#listed.values(), ({ route }) => route)
  }

  route(replicaId: string): R | undefined {
    return this.#listed.get(replicaId)?.route
  }

  routesOf(modelName: string): readonly R[] {
    return this.#byModel.get(modelName)?.routes() ?? []
  }

  pick(modelName: string, policy: RoutePolicy, ask: Ask, isOut: (route: R) => boolean): R | undefined {
    const routes = this.#byModel.get(modelName)
    this.#picked = routes && (choose(policy, routes, ask, isOut) as Counted<R> | undefined)
    return this.#picked?.route
  }

  ranked(modelName: string, most: number): R[] {
    return (
      this.#byModel
        .get(modelName)
        ?.byLoad.ranked(most)
        .map(({ route }) => route) ?? []
    )
  }

  replace(routes: readonly R[]): void {
    const ids = new Set(routes.map(({ replicaId }) => replicaId))
    for (const id of this.#listed.keys()) if (!ids.has(id)) this.remove(id)
    for (const route of routes) this.set(route)
  }

  set(route: R): void {
    const listed = this.#listed.get(route.replicaId)
    if (listed?.route.generation === route.generation && listed.route.modelName === route.modelName) {
      listed.home!.setRoute(listed, route)
      return
    }
    this.remove(route.replicaId)
    const key = keyOf(route)
    const candidate = this.#leaving.get(key) ?? newCandidate(route)
    this.#leaving.delete(key)
    candidate.route = route
    candidate.elsewhere = this.#elsewhere.get(route.replicaId) ?? 0
    this.#listed.set(route.replicaId, candidate)
    const routes = this.#byModel.get(route.modelName) ?? new ModelRoutes<R>()
    this.#byModel.set(route.modelName, routes)
    candidate.home = routes
    routes.add(candidate)
  }

  remove(replicaId: string): void {
    const candidate = this.#listed.get(replicaId)
    if (!candidate) return
    const { modelName } = candidate.route
    this.#listed.delete(replicaId)
    const routes = this.#byModel.get(modelName)!
    routes.remove(candidate)
    candidate.home = undefined
    if (routes.size === 0) this.#byModel.delete(modelName)
    if (candidate.here > 0) this.#leaving.set(keyOf(candidate.route), candidate)
  }

  /** Counts a request from this moment on; the returned function gives it back, once. */
  begin(route: R, nowMs: number): () => void {
    const candidate = this.#find(route) ?? newCandidate(route)
    if (this.#uses === this.#mostUses - 1) this.#renumber()
    candidate.lastUse = this.#uses += 1
    candidate.lastUsedMs = nowMs
    this.#count(candidate, 1)
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      this.#count(candidate, -1)
    }
  }

  loadOf(route: R): RouteLoad {
    const { here, lastUsedMs } = this.#find(route) ?? { here: 0, lastUsedMs: undefined }
    return { here, elsewhere: this.#elsewhere.get(route.replicaId) ?? 0, lastUsedMs }
  }

  /** Our requests in flight by replica, those that are not 0; what still runs on a route that left is among them. */
  ownCounts(): Record<string, number> {
    const counts = new Map<string, number>()
    for (const candidates of [this.#listed, this.#leaving]) {
      for (const { route, here } of candidates.values()) {
        if (here > 0) counts.set(route.replicaId, (counts.get(route.replicaId) ?? 0) + here)
      }
    }
    return Object.fromEntries(counts)
  }

  /** All counts of the others, in place of the last ones. Those of replicas that are not listed wait for them. */
  setElsewhere(counts: ReadonlyMap<string, number>): void {
    const before = this.#elsewhere
    this.#elsewhere = new Map(counts)
    for (const [id, count] of counts) if (count !== before.get(id)) this.#countElsewhere(id, count)
    for (const id of before.keys()) if (!counts.has(id)) this.#countElsewhere(id, 0)
  }

  /** Once in billions of uses: in the same order, from 1 on. */
  #renumber(): void {
    const used = [...this.#listed.values(), ...this.#leaving.values()].filter(({ lastUse }) => lastUse > 0)
    this.#uses = 0
    for (const candidate of used.toSorted((a, b) => a.lastUse - b.lastUse)) candidate.lastUse = this.#uses += 1
    for (const candidate of used) candidate.home?.byLoad.moved(candidate)
  }

  #find(route: R): Counted<R> | undefined {
    const picked = this.#picked
    if (picked !== undefined && picked.route === route && picked.home !== undefined) return picked
    const listed = this.#listed.get(route.replicaId)
    return listed?.route.generation === route.generation ? listed : this.#leaving.get(keyOf(route))
  }

  #count(candidate: Counted<R>, change: 1 | -1): void {
    const { route, here, elsewhere, home } = candidate
    if (home) {
      home.setCounts(candidate, here + change, elsewhere)
      if (change === 1) home.lastUsed = candidate
      return
    }
    candidate.here += change
    if (candidate.here > 0) this.#leaving.set(keyOf(route), candidate)
    else this.#leaving.delete(keyOf(route))
  }

  #countElsewhere(replicaId: string, count: number): void {
    const candidate = this.#listed.get(replicaId)
    candidate?.home!.setCounts(candidate, candidate.here, count)
  }
}

function keyOf({ replicaId, generation }: Route): string {
  return `${generation} ${replicaId}`
}

function newCandidate<R extends Route>(route: R): Counted<R> {
  const position = hash32(route.replicaId)
  return { route, here: 0, elsewhere: 0, lastUse: 0, lastUsedMs: undefined, position, slot: 0, home: undefined }
}
