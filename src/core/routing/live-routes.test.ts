import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LiveRoutes } from './live-routes.ts'
import type { Route } from './table.ts'

const none = (): boolean => false

function aRoute(fields: Partial<Route> = {}): Route {
  const node = { nodeId: 'n', nodeName: 'n', address: '127.0.0.1:1', availableVram: null }
  return { replicaId: 'a', generation: 1, modelName: 'm', ...node, ...fields }
}

function routesOf(...replicaIds: string[]): LiveRoutes<Route> {
  const routes = new LiveRoutes<Route>()
  routes.replace(replicaIds.map((replicaId) => aRoute({ replicaId })))
  return routes
}

function pick(routes: LiveRoutes<Route>): Route {
  return routes.pick('m', 'least_loaded', {}, none)!
}

describe('the order', () => {
  test('fewest in flight first, here and elsewhere together', () => {
    const routes = routesOf('a', 'b', 'c')
    routes.begin(routes.route('b')!, 5)
    routes.setElsewhere(new Map([['a', 2]]))
    expect(routes.ranked('m', 9).map(({ replicaId }) => replicaId)).toEqual(['c', 'b', 'a'])
  })

  test('then the one used longest ago, also when all uses fell into one millisecond', () => {
    const routes = routesOf('a', 'b', 'c')
    for (const id of ['c', 'a', 'b']) routes.begin(routes.route(id)!, 5)()
    expect(routes.ranked('m', 9).map(({ replicaId }) => replicaId)).toEqual(['c', 'a', 'b'])
  })

  test('then the one with the most VRAM, then the lowest id', () => {
    const routes = routesOf('a', 'b', 'c', 'd')
    routes.set(aRoute({ replicaId: 'c', availableVram: 9 }))
    routes.set(aRoute({ replicaId: 'd', availableVram: 9 }))
    expect(routes.ranked('m', 3).map(({ replicaId }) => replicaId)).toEqual(['c', 'd', 'a'])
  })

  test('is the simple definition, after any sequence of changes', () => {
    const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j')
    const change = fc.oneof(
      fc.record({
        kind: fc.constant('set' as const),
        id,
        generation: fc.constantFrom(1, 1, 1, 2),
        vram: fc.constantFrom(null, 0, 1, 2),
      }),
      fc.record({ kind: fc.constant('remove' as const), id }),
      fc.record({ kind: fc.constant('begin' as const), id }),
      fc.record({ kind: fc.constant('end' as const), which: fc.nat() }),
      fc.record({
        kind: fc.constant('elsewhere' as const),
        counts: fc.array(fc.tuple(id, fc.integer({ min: 1, max: 3 })), { maxLength: 5 }),
      }),
      fc.record({ kind: fc.constant('pick' as const), out: fc.uniqueArray(id) }),
    )
    fc.assert(
      fc.property(fc.array(change, { maxLength: 120, size: 'max' }), (changes) => {
        // So few uses that they are numbered anew now and then.
        const routes = new LiveRoutes<Route>(25)
        const simple = new SimpleRoutes()
        const open: { route: Route; end: () => void }[] = []
        const seen = new Map<string, Route>()
        for (const change of changes) {
          if (change.kind === 'set') {
            const route = aRoute({ replicaId: change.id, generation: change.generation, availableVram: change.vram })
            seen.set(change.id, route)
            routes.set(route)
            simple.set(route)
          } else if (change.kind === 'remove') {
            routes.remove(change.id)
            simple.remove(change.id)
          } else if (change.kind === 'begin') {
            // Also on a route that has left: it may have been picked before it did.
            const route = seen.get(change.id) ?? aRoute({ replicaId: change.id })
            open.push({ route, end: routes.begin(route, 0) })
            simple.begin(route)
          } else if (change.kind === 'end') {
            const [ended] = open.splice(change.which % Math.max(1, open.length), 1)
            ended?.end()
            ended?.end()
            if (ended) simple.end(ended.route)
          } else if (change.kind === 'elsewhere') {
            routes.setElsewhere(new Map(change.counts))
            simple.elsewhere = new Map(change.counts)
          } else {
            const isOut = ({ replicaId }: Route): boolean => change.out.some((id) => id === replicaId)
            const expected = simple.ranked().find((route) => !isOut(route))
            expect(routes.pick('m', 'least_loaded', {}, isOut)).toEqual(expected)
          }
          expect(routes.ranked('m', 20)).toEqual(simple.ranked())
          expect(routes.ownCounts()).toEqual(Object.fromEntries(simple.ownCounts()))
        }
      }),
      { numRuns: 300 },
    )
  })

  test('looks at about as many as are out, not at all there are', () => {
    const routes = routesOf(...Array.from({ length: 10_000 }, (_, i) => `r${i}`))
    const out = new Set(routes.ranked('m', 50).map(({ replicaId }) => replicaId))
    let looks = 0
    const picked = routes.pick('m', 'least_loaded', {}, ({ replicaId }) => {
      looks += 1
      return out.has(replicaId)
    })
    expect(picked).toEqual(routes.ranked('m', 51)[50])
    expect(looks).toBeLessThanOrEqual(2 * out.size + 1)
  })

  test('picks none for a model without routes, or when all are out', () => {
    expect(routesOf('a').pick('other', 'least_loaded', {}, none)).toBeUndefined()
    expect(routesOf('a', 'b').pick('m', 'least_loaded', {}, () => true)).toBeUndefined()
    expect(routesOf().ranked('m', 5)).toEqual([])
  })
})

describe('counts', () => {
  test('of a route that leaves and comes back with requests running are right at every moment', () => {
    const routes = routesOf('a', 'b')
    const route = routes.route('a')!
    const ends = [routes.begin(route, 1), routes.begin(route, 2)]
    routes.remove('a')
    expect(routes.ownCounts()).toEqual({ a: 2 })
    ends[0]!()
    routes.set(aRoute({ replicaId: 'a' }))
    expect(routes.loadOf(route)).toEqual({ here: 1, elsewhere: 0, lastUsedMs: 2 })
    expect(pick(routes).replicaId).toBe('b')
    ends[1]!()
    expect(routes.ownCounts()).toEqual({})
  })

  test('of an old generation are not those of the new one, which starts idle', () => {
    const routes = routesOf('a')
    const old = routes.route('a')!
    const end = routes.begin(old, 1)
    const young = aRoute({ generation: 2 })
    routes.set(young)
    expect([routes.loadOf(old).here, routes.loadOf(young).here]).toEqual([1, 0])
    routes.begin(young, 2)
    end()
    expect(routes.loadOf(old)).toEqual({ here: 0, elsewhere: 0, lastUsedMs: undefined })
    expect(routes.ownCounts()).toEqual({ a: 1 })
  })

  test('of a route that moves to another model go with it', () => {
    const routes = routesOf('a')
    const end = routes.begin(routes.route('a')!, 1)
    routes.set(aRoute({ modelName: 'other' }))
    expect(routes.routesOf('m')).toEqual([])
    expect(routes.loadOf(routes.routesOf('other')[0]!).here).toBe(1)
    end()
    expect(routes.ownCounts()).toEqual({})
  })

  test('of a route that is told anew stay, and the list of routes has the new one', () => {
    const routes = routesOf('a')
    routes.begin(routes.routesOf('m')[0]!, 1)
    routes.set(aRoute({ address: '127.0.0.1:2' }))
    const [route] = routes.routesOf('m')
    expect([route!.address, routes.loadOf(route!).here]).toEqual(['127.0.0.1:2', 1])
  })

  test('from elsewhere wait for a route that is not known yet', () => {
    const routes = routesOf('a')
    routes.setElsewhere(new Map([['late', 3]]))
    routes.set(aRoute({ replicaId: 'late' }))
    routes.begin(routes.route('a')!, 1)
    expect(pick(routes).replicaId).toBe('a')
    expect(routes.loadOf(routes.route('late')!).elsewhere).toBe(3)
  })

  test('from elsewhere are kept apart from the map they came in', () => {
    const routes = routesOf('a', 'b')
    const counts = new Map([['a', 1]])
    routes.setElsewhere(counts)
    counts.clear()
    routes.setElsewhere(counts)
    expect(routes.loadOf(routes.route('a')!).elsewhere).toBe(0)
    expect(pick(routes).replicaId).toBe('a')
  })
})

/** The definition, written as plainly as it can be: sort all of them, each time. */
class SimpleRoutes {
  elsewhere = new Map<string, number>()
  readonly #listed = new Map<string, Route>()
  readonly #here = new Map<string, number>()
  readonly #lastUse = new Map<string, number>()
  #uses = 0

  ranked(): Route[] {
    const inFlight = (route: Route): number =>
      (this.#here.get(key(route)) ?? 0) + (this.elsewhere.get(route.replicaId) ?? 0)
    const lastUse = (route: Route): number => this.#lastUse.get(key(route)) ?? 0
    const vram = (route: Route): number => route.availableVram ?? 0
    return [...this.#listed.values()]
      .toSorted((a, b) => (a.replicaId < b.replicaId ? -1 : 1))
      .toSorted((a, b) => vram(b) - vram(a))
      .toSorted((a, b) => lastUse(a) - lastUse(b))
      .toSorted((a, b) => inFlight(a) - inFlight(b))
  }

  ownCounts(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const [key, here] of this.#here) counts.set(key.slice(2), (counts.get(key.slice(2)) ?? 0) + here)
    return counts
  }

  set(route: Route): void {
    const old = this.#listed.get(route.replicaId)
    this.#listed.set(route.replicaId, route)
    if (old) this.#forgetIdle(old)
  }

  remove(replicaId: string): void {
    const old = this.#listed.get(replicaId)
    this.#listed.delete(replicaId)
    if (old) this.#forgetIdle(old)
  }

  begin(route: Route): void {
    this.#here.set(key(route), (this.#here.get(key(route)) ?? 0) + 1)
    this.#lastUse.set(key(route), (this.#uses += 1))
  }

  end(route: Route): void {
    const left = this.#here.get(key(route))! - 1
    if (left > 0) this.#here.set(key(route), left)
    else this.#here.delete(key(route))
    this.#forgetIdle(route)
  }

  #forgetIdle(route: Route): void {
    const isListed = this.#listed.get(route.replicaId)?.generation === route.generation
    if (!isListed && !this.#here.has(key(route))) this.#lastUse.delete(key(route))
  }
}

function key({ generation, replicaId }: Route): string {
  return `${generation} ${replicaId}`
}
