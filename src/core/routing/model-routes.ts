import { inFlightOf, LoadOrder, type Candidate } from './load-order.ts'
import { Ring } from './ring.ts'
import type { Route } from './table.ts'

/** The routes of one model, in every order that a policy asks for. Counts change through here, so that all orders know. */
export class ModelRoutes<R extends Route> {
  readonly byLoad = new LoadOrder<R>()
  readonly ring = new Ring<R>()
  /** The one that got the last request. */
  lastUsed: Candidate<R> | undefined
  /** In flight on all of them. */
  inFlight = 0
  readonly #candidates = new Set<Candidate<R>>()
  #routes: readonly R[] | undefined

  get size(): number {
    return this.#candidates.size
  }

  /** Made once for each change, because the path of a request asks for it. */
  routes(): readonly R[] {
    return (this.#routes ??= [...this.#candidates].map(({ route }) => route))
  }

  add(candidate: Candidate<R>): void {
    this.#candidates.add(candidate)
    this.#routes = undefined
    this.byLoad.add(candidate)
    this.ring.add(candidate)
    this.inFlight += inFlightOf(candidate)
  }

  remove(candidate: Candidate<R>): void {
    this.#candidates.delete(candidate)
    this.#routes = undefined
    this.byLoad.remove(candidate)
    this.ring.remove(candidate)
    this.inFlight -= inFlightOf(candidate)
  }

  setRoute(candidate: Candidate<R>, route: R): void {
    candidate.route = route
    this.#routes = undefined
    this.byLoad.moved(candidate)
  }

  setCounts(candidate: Candidate<R>, here: number, elsewhere: number): void {
    this.inFlight += here + elsewhere - inFlightOf(candidate)
    candidate.here = here
    candidate.elsewhere = elsewhere
    this.byLoad.moved(candidate)
  }
}
