import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type {
  RoutedKeyMessage,
  RoutedModelMessage,
  RouteMessage,
  RoutingDeltaMessage,
  RoutingSnapshotMessage,
} from '../../api/bus/messages.ts'
import { LiveTable, type LiveRoute } from './routing-table.ts'

function aRoute(fields: Partial<RouteMessage> = {}): RouteMessage {
  const node = { node_id: 'n', node_name: 'n', address: '127.0.0.1:1', data_key: 'secret', available_vram: null }
  return { replica_id: 'a', generation: 1, model_name: 'm', ...node, ...fields }
}

function aModel(fields: Partial<RoutedModelMessage> = {}): RoutedModelMessage {
  return { name: 'm', engine: 'sim', created_at: 1, route_policy: 'least_loaded', state: 'ready', ...fields }
}

function aKey(fields: Partial<RoutedKeyMessage> = {}): RoutedKeyMessage {
  return { id: 'k', key_hash: 'hash', scopes: ['inference'], models: null, expires_at: null, ...fields }
}

function aSnapshot(fields: Partial<RoutingSnapshotMessage> = {}): RoutingSnapshotMessage {
  return { feed: 'f', version: 1, models: [aModel()], routes: [], keys: [], ...fields }
}

function aDelta(fields: Partial<RoutingDeltaMessage> = {}): RoutingDeltaMessage {
  return { feed: 'f', from_version: 1, version: 2, set: [], removed: [], heard: [], ...fields }
}

function aTable(fields: Partial<RoutingSnapshotMessage> = {}): LiveTable {
  const table = new LiveTable()
  table.replace(aSnapshot(fields))
  return table
}

const routesNamed = (...ids: string[]): RouteMessage[] => ids.map((replica_id) => aRoute({ replica_id }))
const idsOf = (routes: readonly LiveRoute[]): string[] => routes.map(({ replicaId }) => replicaId)

describe('snapshot and deltas', () => {
  test('before the first snapshot there is nothing, and nothing to save', () => {
    const table = new LiveTable()
    expect([table.hasSnapshot(), table.models(), table.snapshot()]).toEqual([false, [], undefined])
    expect(table.pick('m', {}, () => false)).toBeUndefined()
  })

  test('a delta changes what it names and leaves the rest', () => {
    const table = aTable({ routes: routesNamed('a', 'b'), keys: [aKey()] })
    expect(table.apply(aDelta({ set: routesNamed('c'), removed: ['a'] }), 0)).toBe(true)
    expect(idsOf(table.routesOf('m'))).toEqual(['b', 'c'])
    expect([table.models().length, table.hasKeys()]).toEqual([1, true])
  })

  test('a gap or another feed asks for a snapshot and changes nothing', () => {
    const table = aTable({ routes: routesNamed('a') })
    expect(table.apply(aDelta({ from_version: 2, version: 3, removed: ['a'] }), 0)).toBe(false)
    expect(table.apply(aDelta({ feed: 'g', removed: ['a'] }), 0)).toBe(false)
    expect(idsOf(table.routesOf('m'))).toEqual(['a'])
  })

  test('what is older than the table is passed over, snapshot or delta', () => {
    const table = aTable({ version: 5, routes: routesNamed('a') })
    expect(table.apply(aDelta({ from_version: 3, version: 4, removed: ['a'] }), 0)).toBe(true)
    table.replace(aSnapshot({ version: 4 }))
    expect(idsOf(table.routesOf('m'))).toEqual(['a'])
  })

  test('the first delta of a new feed is a whole table', () => {
    const table = aTable({ routes: routesNamed('a'), keys: [aKey()] })
    const first = aDelta({ feed: 'g', from_version: 0, version: 1, models: [aModel({ name: 'x' })] })
    expect(table.apply({ ...first, set: [aRoute({ replica_id: 'b', model_name: 'x' })] }, 0)).toBe(true)
    expect([idsOf(table.routesOf('m')), idsOf(table.routesOf('x')), table.hasKeys()]).toEqual([[], ['b'], false])
    expect(table.models().map(({ name }) => name)).toEqual(['x'])
  })

  test('a saved table makes the same table again', () => {
    const table = aTable({ routes: routesNamed('a', 'b'), keys: [aKey()] })
    table.apply(aDelta({ set: [aRoute({ replica_id: 'c', available_vram: 7 })], removed: ['a'] }), 0)
    const saved = table.snapshot()!
    expect(saved).toEqual(
      aSnapshot({
        version: 2,
        routes: [...routesNamed('b'), aRoute({ replica_id: 'c', available_vram: 7 })],
        keys: [aKey()],
      }),
    )
    const other = new LiveTable()
    other.replace(saved)
    expect(other.snapshot()).toEqual(saved)
  })
})

test('a model tells its state, and its policy is the one that picks', () => {
  const models = [aModel({ route_policy: 'round_robin', state: 'starting' })]
  const table = aTable({ models, routes: routesNamed('a', 'b', 'c') })
  expect(table.model('m')).toMatchObject({ routePolicy: 'round_robin', state: 'starting', createdAtMs: 1 })
  const taken = new Set<string>()
  const ends = [1, 2, 3].map((nowMs) => {
    const route = table.pick('m', {}, () => false)!
    taken.add(route.replicaId)
    return table.begin(route, nowMs)
  })
  expect(taken.size).toBe(3)
  // The least loaded would be the one without requests; in turn it is the first one again.
  ends[1]!()
  const [first] = taken
  expect(table.pick('m', {}, () => false)?.replicaId).toBe(first)
  table.apply(aDelta({ models: [aModel()] }), 0)
  expect(table.pick('m', {}, () => false)?.replicaId).toBe([...taken][1])
})

test('keys are found by their hash, until a delta brings others', () => {
  const table = aTable({ keys: [aKey()] })
  expect([table.keyByHash('hash')?.id, table.keyByHash('other')]).toEqual(['k', undefined])
  table.apply(aDelta({ keys: [aKey({ id: 'k2', key_hash: 'other' })] }), 0)
  expect([table.keyByHash('hash'), table.keyByHash('other')?.id]).toEqual([undefined, 'k2'])
})

describe('nodes that were heard', () => {
  test('are remembered with the time, also from a delta that does not fit', () => {
    const table = aTable()
    table.apply(aDelta({ heard: ['n1'] }), 1000)
    table.apply(aDelta({ feed: 'other', heard: ['n2'] }), 2000)
    expect([table.heardAtMs('n1'), table.heardAtMs('n2'), table.heardAtMs('n3')]).toEqual([1000, 2000, undefined])
    table.apply(aDelta({ heard: ['n1'] }), 3000)
    expect(table.heardAtMs('n1')).toBe(3000)
  })

  test('are forgotten after a long silence', () => {
    const table = aTable()
    table.apply(aDelta({ heard: ['n1', 'n2'] }), 1000)
    table.apply(aDelta({ heard: ['n2'] }), 600_000)
    expect([table.heardAtMs('n1'), table.heardAtMs('n2')]).toEqual([undefined, 600_000])
  })
})

test('when all requests are given back nothing is in flight and nothing is kept, whatever the table did meanwhile', () => {
  const ids = fc.subarray(['a', 'b', 'c', 'd'])
  const generation = fc.constantFrom(1, 1, 2)
  const event = fc.oneof(
    fc.record({
      kind: fc.constant('begin' as const),
      sessionKey: fc.option(fc.constantFrom('x', 'y'), { nil: undefined }),
    }),
    fc.record({ kind: fc.constant('begin late' as const), which: fc.nat() }),
    fc.record({ kind: fc.constant('end' as const), which: fc.nat() }),
    fc.record({
      kind: fc.constant('replace' as const),
      ids,
      generation,
      policy: fc.constantFrom('session', 'round_robin'),
    }),
    fc.record({ kind: fc.constant('apply' as const), ids, generation, removed: ids }),
    fc.record({ kind: fc.constant('elsewhere' as const), ids }),
  )
  fc.assert(
    fc.property(fc.array(event, { maxLength: 100, size: 'max' }), (events) => {
      const table = aTable({ routes: routesNamed('a', 'b') })
      const seen = [...table.routesOf('m')]
      const open: (() => void)[] = []
      let [begun, version] = [0, 1]
      for (const event of events) {
        if (event.kind === 'begin') {
          const route = table.pick('m', { sessionKey: event.sessionKey }, () => false)
          if (route) open.push(table.begin(route, (begun += 1)))
        } else if (event.kind === 'begin late') {
          open.push(table.begin(seen[event.which % seen.length]!, (begun += 1)))
        } else if (event.kind === 'end') {
          const [end] = open.splice(event.which % Math.max(1, open.length), 1)
          end?.()
          end?.()
        } else if (event.kind === 'elsewhere') {
          table.setElsewhere(new Map(event.ids.map((id) => [id, 1])))
        } else {
          const routes = event.ids.map((replica_id) => aRoute({ replica_id, generation: event.generation }))
          version += 1
          if (event.kind === 'apply') {
            const removed = event.removed.filter((id) => !event.ids.includes(id))
            expect(table.apply(aDelta({ from_version: version - 1, version, set: routes, removed }), 0)).toBe(true)
          } else {
            const models = [aModel({ route_policy: event.policy })]
            table.replace(aSnapshot({ version, routes, models }))
          }
          seen.push(...table.routesOf('m'))
        }
        const inFlight = Object.values(table.ownCounts()).reduce((sum, count) => sum + count, 0)
        expect(inFlight).toBe(open.length)
      }
      for (const end of open) end()
      expect(table.ownCounts()).toEqual({})
      table.setElsewhere(new Map())
      table.replace(aSnapshot({ version: version + 1 }))
      for (const route of seen) expect(table.loadOf(route)).toEqual({ here: 0, elsewhere: 0, lastUsedMs: undefined })
    }),
    { numRuns: 200 },
  )
})
