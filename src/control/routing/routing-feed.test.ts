import { describe, expect, test } from 'vitest'
import type { RoutedKeyMessage, RoutingPartMessage, RoutingSnapshotMessage } from '../../api/bus/messages.ts'
import type { Node, Replica, Rule } from '../../core/types.ts'
import { LiveTable } from '../../gateway/table/routing-table.ts'
import type { StoredNode } from '../../store/nouns/nodes.ts'
import type { StoredWorld } from '../../store/world/world.ts'
import { aModel, aNode, aRule, aStoredReplica } from '../../../test/support/builders.ts'
import { RoutingFeed } from './routing-feed.ts'

const GIB = 2 ** 30

interface Fields {
  nowMs?: number
  node?: Partial<StoredNode>
  rules?: Rule[]
  modelNames?: string[]
  replicas?: Partial<Replica>[]
}

/** One node `n1`, and the replicas of model `m` on it. */
function aStoredWorld({ nowMs = 0, node, rules = [], modelNames = ['m'], replicas = [] }: Fields): StoredWorld {
  return {
    nowMs,
    rules,
    nodes: [{ ...aNode({ id: 'n1', name: 'thor' }), lastHeartbeatMs: null, tlsFingerprint: null, ...node }],
    models: modelNames.map((name) => ({ ...aModel({ name }), origin: 'api' as const, createdMs: 5, updatedMs: 5 })),
    replicas: replicas.map((fields, replicaIndex) => aStoredReplica({ nodeId: 'n1', replicaIndex, ...fields })),
    demands: [],
    facts: [],
    learned: [],
  }
}
const withReplicas = (...ids: string[]): StoredWorld => aStoredWorld({ replicas: ids.map((id) => ({ id })) })
const idsOf = (table: LiveTable): string[] => table.routesOf('m').map((route) => route.replicaId)

describe('a gateway', () => {
  test('that hears every delta has the table of the leader', () => {
    const feed = new RoutingFeed('secret')
    const table = new LiveTable()
    for (const ids of [['a'], ['a', 'b'], ['b'], [], ['c']]) {
      expect(table.apply(feed.update(withReplicas(...ids), []), 0)).toBe(true)
      expect(idsOf(table)).toEqual(ids)
    }
  })

  test('that missed a delta notices at the next one, changed or not, and a snapshot mends it', () => {
    const feed = new RoutingFeed('secret')
    const table = new LiveTable()
    table.apply(feed.update(withReplicas('a'), []), 0)
    feed.update(withReplicas('a', 'b'), [])
    expect(table.apply(feed.update(withReplicas('a', 'b'), []), 0)).toBe(false)
    table.replace(feed.snapshot(0))
    expect(idsOf(table)).toEqual(['a', 'b'])
    expect(table.apply(feed.update(withReplicas('a', 'b'), []), 0)).toBe(true)
  })

  test('takes nothing from a delta that a newer snapshot already holds', () => {
    const feed = new RoutingFeed('secret')
    const table = new LiveTable()
    table.apply(feed.update(withReplicas('a'), []), 0)
    const late = feed.update(withReplicas('b'), [])
    feed.update(withReplicas('c'), [])
    table.replace(feed.snapshot(0))
    expect(table.apply(late, 0)).toBe(true)
    expect(idsOf(table)).toEqual(['c'])
  })

  test('takes the first delta of another leader as its table; at a later one it asks for a snapshot', () => {
    const table = new LiveTable()
    table.apply(new RoutingFeed('secret').update(withReplicas('a'), []), 0)
    const other = new RoutingFeed('secret')
    expect(table.apply(other.update(withReplicas('b'), []), 0)).toBe(true)
    expect(idsOf(table)).toEqual(['b'])
    const third = new RoutingFeed('secret')
    third.update(withReplicas('c'), [])
    expect(table.apply(third.update(withReplicas('c', 'd'), []), 0)).toBe(false)
  })

  test('knows the models and keys of the leader as they come and go', () => {
    const feed = new RoutingFeed('secret')
    const table = new LiveTable()
    table.apply(feed.update(aStoredWorld({ modelNames: ['m', 'x'] }), [aKey('k1')]), 0)
    expect(table.models().map(({ name }) => name)).toEqual(['m', 'x'])
    expect(table.keyByHash('hash of k1')).toMatchObject({ id: 'k1' })
    table.apply(feed.update(aStoredWorld({ modelNames: ['x'] }), []), 0)
    expect(table.models().map(({ name }) => name)).toEqual(['x'])
    expect(table.keyByHash('hash of k1')).toBeUndefined()
  })
})

function aKey(id: string): RoutedKeyMessage {
  return { id, key_hash: `hash of ${id}`, scopes: ['inference'], models: null, expires_at: null }
}

describe('what is told of a route', () => {
  const vramOf = (feed: RoutingFeed, availableVram: number | null) => {
    const { version, set } = feed.update(aStoredWorld({ node: { availableVram }, replicas: [{ id: 'a' }] }), [])
    return { version, told: set.map((route) => route.available_vram) }
  }

  test('free VRAM is told in steps, so that a heartbeat does not change the table', () => {
    const feed = new RoutingFeed('secret')
    expect(vramOf(feed, 18.9 * GIB)).toEqual({ version: 1, told: [18 * GIB] })
    expect(vramOf(feed, 18.1 * GIB)).toEqual({ version: 1, told: [] })
    expect(vramOf(feed, 17.9 * GIB)).toEqual({ version: 2, told: [17 * GIB] })
    expect(vramOf(feed, 0.5 * GIB)).toEqual({ version: 3, told: [0] })
    expect(vramOf(feed, null)).toEqual({ version: 4, told: [null] })
  })

  test('a node that lost a label which the rule asks for is no longer routed to', () => {
    const feed = new RoutingFeed('secret')
    const rules = [aRule({ nodeSelector: { tier: 'fast' } })]
    const world = (labels: Record<string, string>) => aStoredWorld({ rules, node: { labels }, replicas: [{ id: 'a' }] })
    expect(feed.update(world({ tier: 'fast' }), [])).toMatchObject({ version: 1, set: [{ replica_id: 'a' }] })
    expect(feed.update(world({ tier: 'slow' }), [])).toMatchObject({ version: 2, set: [], removed: ['a'] })
  })
})

describe('what is told of a model', () => {
  const stateOf = (replicas: Partial<Replica>[], node: Partial<Node> = {}) =>
    new RoutingFeed('secret').update(aStoredWorld({ replicas, node }), []).models?.[0]?.state

  test.each([
    ['ready', 'one serves, whatever the others do', [{}, { state: 'failed' as const }]],
    ['starting', 'one is on its way', [{ state: 'failed' as const }, { state: 'staging' as const }]],
    ['starting', 'one is only reserved', [{ state: 'reserved' as const }]],
    ['failed', 'only failed ones are left', [{ state: 'failed' as const }, { state: 'draining' as const }]],
    ['stopped', 'what there is ends', [{ state: 'draining' as const }, { state: 'stopping' as const }]],
    ['stopped', 'what is on its way is of an old revision', [{ state: 'loading' as const, revision: 'r0' }]],
    ['stopped', 'there is nothing', []],
  ])('%s: %s', (state, _, replicas) => {
    expect(stateOf(replicas)).toBe(state)
  })

  test('a ready replica that may not be routed to does not make it ready', () => {
    expect(stateOf([{}], { desired: 'draining' })).toBe('stopped')
  })

  test('its policy is that of its rule, and a change of it is told', () => {
    const feed = new RoutingFeed('secret')
    expect(feed.update(aStoredWorld({}), []).models).toMatchObject([{ route_policy: 'least_loaded' }])
    const rules = [aRule({ routePolicy: 'session' })]
    expect(feed.update(aStoredWorld({ rules }), [])).toMatchObject({
      version: 2,
      models: [{ route_policy: 'session' }],
    })
    expect(feed.update(aStoredWorld({ rules }), [])).not.toHaveProperty('models')
  })
})

describe('keys', () => {
  test('are told when they change, and only then', () => {
    const feed = new RoutingFeed('secret')
    expect(feed.update(aStoredWorld({}), [aKey('k1'), aKey('k2')])).toMatchObject({
      version: 1,
      keys: [{ id: 'k1' }, { id: 'k2' }],
    })
    const same = feed.update(aStoredWorld({}), [aKey('k1'), aKey('k2')])
    expect(same).toMatchObject({ from_version: 1, version: 1 })
    expect(same).not.toHaveProperty('keys')
    expect(feed.update(aStoredWorld({}), [aKey('k2')])).toMatchObject({ version: 2, keys: [{ id: 'k2' }] })
    expect(feed.snapshot(0).keys).toEqual([aKey('k2')])
  })
})

test('rows that were read again and say the same change nothing; one that differs is told alone', () => {
  const feed = new RoutingFeed('secret')
  const before = withReplicas('a', 'b', 'c')
  feed.update(before, [])
  expect(feed.update(before, [])).toMatchObject({ version: 1, set: [], removed: [] })
  expect(feed.update(structuredClone(before), [])).toMatchObject({ version: 1, set: [], removed: [] })
  const replicas = before.replicas.map((one) => (one.id === 'b' ? { ...one, generation: 7 } : one))
  expect(feed.update({ ...before, replicas }, [])).toMatchObject({
    version: 2,
    set: [{ replica_id: 'b', generation: 7 }],
  })
  const nodes = before.nodes.map((node) => ({ ...node, address: '10.0.0.9:1' }))
  const delta = feed.update({ ...before, replicas, nodes }, [])
  expect(delta.set.map(({ replica_id: id, address }) => `${id} ${address}`)).toEqual([
    'a 10.0.0.9:1',
    'b 10.0.0.9:1',
    'c 10.0.0.9:1',
  ])
  expect(delta.set[0]!.data_key).toBe(feed.snapshot(0).routes[2]!.data_key)
})

describe('which nodes were heard', () => {
  test('goes by how often they are heard in this cluster', () => {
    const world = aStoredWorld({ nowMs: 100_000, node: { lastHeartbeatMs: 60_000 } })
    expect(new RoutingFeed('secret', 45_000).update(world, []).heard).toEqual(['n1'])
    expect(new RoutingFeed('secret', 39_999).update(world, []).heard).toEqual([])
  })

  test('also by a heartbeat after which the node was not read again', () => {
    const world = aStoredWorld({ nowMs: 100_000, node: { lastHeartbeatMs: 60_000 } })
    const heardAt = (heardMs: number) => {
      const feed = new RoutingFeed('secret')
      feed.hear([{ nodeId: 'n1', heardMs }])
      return feed.update(world, []).heard
    }
    expect([heardAt(90_000), heardAt(50_000)]).toEqual([['n1'], []])
  })

  test('is told every ten seconds, also after the clock was set back', () => {
    const feed = new RoutingFeed('secret')
    const heardAt = (nowMs: number) =>
      feed.update(aStoredWorld({ nowMs, node: { lastHeartbeatMs: nowMs } }), []).heard.length
    expect([100_000, 103_000, 109_999, 110_000, 112_000, 50_000, 51_000].map(heardAt)).toEqual([1, 0, 0, 1, 0, 1, 0])
  })

  test.each([
    [85_000, ['n1']],
    [84_999, []],
    [null, []],
  ])('last at %s of 100 s', (lastHeartbeatMs, heard) => {
    const world = aStoredWorld({ nowMs: 100_000, node: { lastHeartbeatMs } })
    expect(new RoutingFeed('secret').update(world, []).heard).toEqual(heard)
  })

  test('changes nothing about the version', () => {
    const feed = new RoutingFeed('secret')
    const before = feed.update(aStoredWorld({ nowMs: 100_000, node: { lastHeartbeatMs: 99_000 } }), [])
    const after = feed.update(aStoredWorld({ nowMs: 200_000, node: { lastHeartbeatMs: 99_000 } }), [])
    expect(after.version).toBe(before.version)
  })
})

test('a table too large for one message comes in parts, and a delta too large makes gateways ask for it', () => {
  const feed = new RoutingFeed('secret')
  const ids = Array.from({ length: 6000 }, (_, i) => `replica-${i}`)
  const table = new LiveTable()
  const delta = feed.update(withReplicas(...ids), [])
  expect(delta.set).toEqual([])
  expect(table.apply(delta, 0)).toBe(false)
  const parts = partsOf(feed)
  expect(parts.length).toBeGreaterThan(1)
  table.replace(joined(parts))
  expect(table.routesOf('m')).toHaveLength(6000)
  expect(table.apply(feed.update(withReplicas(...ids, 'one-more'), []), 0)).toBe(true)
  expect(table.routesOf('m')).toHaveLength(6001)
})

describe('models and keys that one message cannot hold', () => {
  const named = (count: number): string[] => Array.from({ length: count }, (_, i) => `${i}-`.padEnd(200, 'm'))
  const keysOf = (count: number): RoutedKeyMessage[] =>
    Array.from({ length: count }, (_, i) => aKey(`${i}`.padEnd(36, 'k')))

  test('come in parts, and changes of them make gateways ask for the table', () => {
    const feed = new RoutingFeed('secret')
    const table = new LiveTable()
    const world = aStoredWorld({ modelNames: named(10_000), replicas: [{ id: 'a', modelName: named(1)[0]! }] })
    expect(table.apply(feed.update(world, keysOf(10_000)), 0)).toBe(false)
    table.replace(joined(partsOf(feed)))
    expect(table.models()).toHaveLength(10_000)
    expect(table.keyByHash(keysOf(10_000).at(-1)!.key_hash)).toBeDefined()
    expect(table.routesOf(named(1)[0]!)).toHaveLength(1)
    const fewer = feed.update({ ...world, models: world.models.slice(1) }, keysOf(10_000))
    expect(fewer.models).toBeUndefined()
    expect(table.apply(fewer, 0)).toBe(false)
  })

  test('a gateway of the release before finds in the first part what that release could tell it', () => {
    const feed = new RoutingFeed('secret')
    feed.update(aStoredWorld({ modelNames: named(2000) }), keysOf(1300))
    const [first] = partsOf(feed)
    expect(first!.models).toHaveLength(2000)
    expect(first!.keys).toHaveLength(1300)
  })
})

/** All there are, each of which fits into a message on the bus. */
function partsOf(feed: RoutingFeed): RoutingPartMessage[] {
  const parts = Array.from({ length: feed.snapshot(0).parts }, (_, part) => feed.snapshot(part))
  for (const part of parts) expect(Buffer.byteLength(JSON.stringify(part))).toBeLessThan(1024 * 1024 - 4096)
  return parts
}

function joined(parts: readonly RoutingPartMessage[]): RoutingSnapshotMessage {
  const { feed, version } = parts[0]!
  const [models, routes, keys] = [
    parts.flatMap((one) => one.models),
    parts.flatMap((one) => one.routes),
    parts.flatMap((one) => one.keys),
  ]
  return { feed, version, models, routes, keys }
}
