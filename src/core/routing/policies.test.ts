import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LiveRoutes } from './live-routes.ts'
import type { Route } from './table.ts'

const none = (): boolean => false

function aRoute(replicaId: string): Route {
  const node = { nodeId: 'n', nodeName: 'n', address: '127.0.0.1:1', availableVram: null }
  return { replicaId, generation: 1, modelName: 'm', ...node }
}

function routesOf(ids: readonly string[]): LiveRoutes<Route> {
  const routes = new LiveRoutes<Route>()
  routes.replace(ids.map(aRoute))
  return routes
}

const named = (count: number): string[] => Array.from({ length: count }, (_, i) => `r${i}`)

describe('round_robin', () => {
  const next = (routes: LiveRoutes<Route>, isOut: (route: Route) => boolean = none): string => {
    const route = routes.pick('m', 'round_robin', {}, isOut)!
    routes.begin(route, 0)
    return route.replicaId
  }

  test('gives each its turn, however busy it is', () => {
    const routes = routesOf(named(5))
    const turns = Array.from({ length: 15 }, () => next(routes))
    expect(new Set(turns.slice(0, 5)).size).toBe(5)
    expect(turns.slice(5, 10)).toEqual(turns.slice(0, 5))
    expect(turns.slice(10)).toEqual(turns.slice(0, 5))
  })

  test('those that stay keep their turns when others come and go', () => {
    const change = fc.record({ after: fc.nat(6), id: fc.constantFrom('x1', 'x2', 'x3', 'x4'), isThere: fc.boolean() })
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
        const staying = named(4)
        const routes = routesOf(staying)
        const turns: string[] = []
        for (const { after, id, isThere } of changes) {
          for (let i = 0; i < after; i += 1) turns.push(next(routes))
          if (isThere) routes.set(aRoute(id))
          else routes.remove(id)
        }
        for (let i = 0; i < 16; i += 1) turns.push(next(routes))
        const theirs = turns.filter((id) => staying.includes(id))
        expect(theirs.slice(4)).toEqual(theirs.slice(0, -4))
      }),
    )
  })

  test('passes over replicas that are out, and picks none when all are', () => {
    const routes = routesOf(named(3))
    const turns = Array.from({ length: 4 }, () => next(routes, ({ replicaId }) => replicaId === 'r1'))
    expect(turns.toSorted()).toEqual(['r0', 'r0', 'r2', 'r2'])
    expect(routes.pick('m', 'round_robin', {}, () => true)).toBeUndefined()
  })
})

describe('session', () => {
  const ownerOf = (routes: LiveRoutes<Route>, sessionKey: string, isOut: (route: Route) => boolean = none): string =>
    routes.pick('m', 'session', { sessionKey }, isOut)!.replicaId
  const keys = Array.from({ length: 5000 }, (_, i) => `user ${i}`)

  test('spreads sessions about evenly, however the replicas are called', () => {
    const routes = routesOf(named(20))
    const shares = Map.groupBy(keys, (key) => ownerOf(routes, key))
    const sizes = [...shares.values()].map(({ length }) => length)
    expect(sizes).toHaveLength(20)
    expect(Math.max(...sizes)).toBeLessThan(1.5 * (keys.length / 20))
    expect(Math.min(...sizes)).toBeGreaterThan(0.5 * (keys.length / 20))
  })

  test('a replica that comes or goes moves only its own share', () => {
    const ids = fc.uniqueArray(fc.uuid(), { minLength: 2, maxLength: 30 })
    fc.assert(
      fc.property(ids, fc.array(fc.string(), { minLength: 1, maxLength: 50 }), ([comer, ...others], keys) => {
        const routes = routesOf(others)
        const before = keys.map((key) => ownerOf(routes, key))
        routes.set(aRoute(comer!))
        const during = keys.map((key) => ownerOf(routes, key))
        for (const [i, owner] of during.entries()) if (owner !== comer) expect(owner).toBe(before[i])
        routes.remove(comer!)
        expect(keys.map((key) => ownerOf(routes, key))).toEqual(before)
      }),
    )
  })

  test('stays where it is below the bound and never takes a replica above it', () => {
    const step = fc.record({
      key: fc.constantFrom('hot', 'warm', 'a', 'b', 'c'),
      ends: fc.option(fc.nat(), { nil: null }),
    })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.array(step, { maxLength: 80 }), (count, steps) => {
        const routes = routesOf(named(count))
        const own = new Map(steps.map(({ key }) => [key, ownerOf(routes, key)]))
        const open: (() => void)[] = []
        for (const { key, ends } of steps) {
          const bound = Math.ceil((1.25 * (open.length + 1)) / count)
          const before = routes.ownCounts()
          const route = routes.pick('m', 'session', { sessionKey: key }, none)!
          expect(before[route.replicaId] ?? 0).toBeLessThan(bound)
          if ((before[own.get(key)!] ?? 0) < bound) expect(route.replicaId).toBe(own.get(key))
          open.push(routes.begin(route, 0))
          if (ends !== null) open.splice(ends % open.length, 1)[0]!()
        }
      }),
    )
  })

  test('counts what other gateways sent', () => {
    const routes = routesOf(named(4))
    const own = ownerOf(routes, 'k')
    routes.setElsewhere(new Map([[own, 8]]))
    expect(ownerOf(routes, 'k')).not.toBe(own)
    routes.setElsewhere(new Map())
    expect(ownerOf(routes, 'k')).toBe(own)
  })

  test('whose replica is out goes to another, always the same one, and comes back', () => {
    const routes = routesOf(named(6))
    for (const key of keys.slice(0, 50)) {
      const own = ownerOf(routes, key)
      const next = ownerOf(routes, key, ({ replicaId }) => replicaId === own)
      expect(next).not.toBe(own)
      expect(ownerOf(routes, key, ({ replicaId }) => replicaId === own)).toBe(next)
      expect(ownerOf(routes, key)).toBe(own)
    }
  })

  test('keeps to its own order even when most replicas are out', () => {
    const routes = routesOf(named(100))
    const out = new Set<string>()
    const isOut = ({ replicaId }: Route): boolean => out.has(replicaId)
    while (out.size < 60) out.add(ownerOf(routes, 'k', isOut))
    const next = ownerOf(routes, 'k', isOut)
    // Used last of all, it would be the last choice of the least loaded.
    routes.begin(routes.route(next)!, 0)()
    expect(ownerOf(routes, 'k', isOut)).toBe(next)
  })

  test('has a bound that forgets the requests of replicas that left', () => {
    const routes = routesOf(named(3))
    const own = ownerOf(routes, 'k')
    const gone = named(3).find((id) => id !== own)!
    for (let i = 0; i < 50; i += 1) routes.begin(routes.route(gone)!, 0)
    routes.remove(gone)
    for (let i = 0; i < 3; i += 1) routes.begin(routes.route(own)!, 0)
    expect(ownerOf(routes, 'k')).not.toBe(own)
  })

  test('goes to a replica above the bound rather than nowhere when all with room are out', () => {
    const routes = routesOf(['idle', 'busy'])
    const busy = routes.route('busy')!
    for (let i = 0; i < 10; i += 1) routes.begin(busy, 0)
    expect(ownerOf(routes, 'k', ({ replicaId }) => replicaId === 'idle')).toBe('busy')
    expect(routes.pick('m', 'session', { sessionKey: 'k' }, () => true)).toBeUndefined()
  })

  test('without a key is the least loaded', () => {
    const routes = routesOf(named(3))
    routes.setElsewhere(
      new Map([
        ['r0', 1],
        ['r2', 1],
      ]),
    )
    expect(routes.pick('m', 'session', {}, none)?.replicaId).toBe('r1')
  })
})
