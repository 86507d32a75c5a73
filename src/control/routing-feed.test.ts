import { expect, test } from 'vitest'
import { LiveTable } from '../gateway/routing-table.ts'
import type { StoredWorld } from '../store/world.ts'
import { aModel, aNode, aReplica } from '../testing/builders.ts'
import { RoutingFeed } from './routing-feed.ts'

function aStoredWorld(replicaIds: string[], modelNames = ['m']): StoredWorld {
  return {
    nowMs: 0,
    rules: [],
    nodes: [aNode({ id: 'n1', name: 'thor' })],
    models: modelNames.map((name) => ({ ...aModel({ name }), options: {}, created_at: 5, updated_at: 5 })),
    replicas: replicaIds.map((id, replicaIndex) => aReplica({ id, nodeId: 'n1', replicaIndex })),
  }
}
const idsOf = (table: LiveTable): string[] => table.routesOf('m').map((route) => route.replicaId)

test('a gateway that hears every delta has the table of the leader', () => {
  const feed = new RoutingFeed('secret')
  const table = new LiveTable()
  for (const ids of [['a'], ['a', 'b'], ['b'], [], ['c']]) {
    expect(table.apply(feed.update(aStoredWorld(ids)))).toBe(true)
    expect(idsOf(table)).toEqual(ids)
  }
})

test('a gateway that missed a delta notices at the next one, changed or not, and a snapshot mends it', () => {
  const feed = new RoutingFeed('secret')
  const table = new LiveTable()
  table.apply(feed.update(aStoredWorld(['a'])))
  feed.update(aStoredWorld(['a', 'b']))
  expect(table.apply(feed.update(aStoredWorld(['a', 'b'])))).toBe(false)
  table.replace(feed.snapshot())
  expect(idsOf(table)).toEqual(['a', 'b'])
  expect(table.apply(feed.update(aStoredWorld(['a', 'b'])))).toBe(true)
})

test('a delta that a newer snapshot already holds changes nothing', () => {
  const feed = new RoutingFeed('secret')
  const table = new LiveTable()
  table.apply(feed.update(aStoredWorld(['a'])))
  const late = feed.update(aStoredWorld(['b']))
  feed.update(aStoredWorld(['c']))
  table.replace(feed.snapshot())
  expect(table.apply(late)).toBe(true)
  expect(idsOf(table)).toEqual(['c'])
})

test('the first delta of another leader replaces the table; a later one asks for a snapshot', () => {
  const table = new LiveTable()
  table.apply(new RoutingFeed('secret').update(aStoredWorld(['a'])))
  const other = new RoutingFeed('secret')
  expect(table.apply(other.update(aStoredWorld(['b'])))).toBe(true)
  expect(idsOf(table)).toEqual(['b'])
  const third = new RoutingFeed('secret')
  third.update(aStoredWorld(['c']))
  expect(table.apply(third.update(aStoredWorld(['c', 'd'])))).toBe(false)
})

test('models come and go with the table', () => {
  const feed = new RoutingFeed('secret')
  const table = new LiveTable()
  table.apply(feed.update(aStoredWorld([], ['m', 'x'])))
  expect(table.models().map(({ name }) => name)).toEqual(['m', 'x'])
  table.apply(feed.update(aStoredWorld([], ['x'])))
  expect(table.hasModel('m')).toBe(false)
})
