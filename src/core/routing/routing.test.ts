import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aModel, aNode, aReplica } from '../../testing/builders.ts'
import { pick, type RouteLoad } from './pick.ts'
import { routableReplicas, type Route } from './table.ts'

describe('who may be sent requests', () => {
  const routable = (node: Parameters<typeof aNode>[0], replica: Parameters<typeof aReplica>[0] = {}) =>
    routableReplicas([aModel()], [aNode({ id: 'n1', ...node })], [aReplica({ nodeId: 'n1', ...replica })]).length === 1

  test('a ready replica of the current revision on an approved, active node', () => {
    expect(routable({})).toBe(true)
  })

  test('also while its node misses heartbeats: silence of control is no reason to fail requests', () => {
    expect(routable({ liveness: 'unreachable' })).toBe(true)
  })

  test.each([
    ['a node that is not approved', { approved: false }, {}],
    ['a draining node', { desired: 'draining' as const }, {}],
    ['an offline node', { liveness: 'offline' as const }, {}],
    ['a replica that is loading', {}, { state: 'loading' as const }],
    ['a replica that is draining', {}, { state: 'draining' as const }],
    ['a replica that is stopping', {}, { state: 'stopping' as const }],
    ['a replica of an old revision', {}, { revision: 'r0' }],
    ['a replica of a deleted model', {}, { modelName: 'gone' }],
    ['a replica of an unknown node', {}, { nodeId: 'n9' }],
  ])('never %s', (_, node, replica) => {
    expect(routable(node, replica)).toBe(false)
  })
})

describe('pick', () => {
  const routes = ['a', 'b', 'c', 'd'].map((replicaId) => ({ replicaId }) as Route)
  const loads = (byId: Record<string, Partial<RouteLoad>>) => (route: Route) => ({
    inFlight: 0,
    lastUsedMs: 0,
    ...byId[route.replicaId],
  })

  test('the fewest in flight wins', () => {
    expect(
      pick(routes, loads({ a: { inFlight: 2 }, b: { inFlight: 1 }, c: { inFlight: 3 }, d: { inFlight: 1 } }))
        ?.replicaId,
    ).toBe('b')
  })

  test('among equals the one that was used longest ago', () => {
    expect(
      pick(routes, loads({ a: { lastUsedMs: 4 }, b: { lastUsedMs: 3 }, c: { lastUsedMs: 1 }, d: { lastUsedMs: 2 } }))
        ?.replicaId,
    ).toBe('c')
  })

  test('nothing to pick from picks nothing', () => {
    expect(pick([], loads({}))).toBeUndefined()
  })

  test('any number of requests at once differ by at most one between idle replicas', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 64 }), (requests) => {
        const counts = new Map(routes.map((route) => [route.replicaId, 0]))
        for (let i = 0; i < requests; i += 1) {
          const chosen = pick(routes, (route) => ({ inFlight: counts.get(route.replicaId)!, lastUsedMs: 0 }))!
          counts.set(chosen.replicaId, counts.get(chosen.replicaId)! + 1)
        }
        const all = [...counts.values()]
        expect(Math.max(...all) - Math.min(...all)).toBeLessThanOrEqual(1)
      }),
    )
  })
})
