import { expect, test } from 'vitest'
import { aNode, aReplica } from '../../../test/support/builders.ts'
import type { Replica, ReplicaState } from '../types.ts'
import { nextStarts } from './next-starts.ts'

const many = (count: number, nodeId: string, state: ReplicaState) =>
  Array.from({ length: count }, (_, i) => aReplica({ id: `${nodeId}${i}`, nodeId, state, generation: 100 - i }))

const nodes = (...ids: string[]) => ids.map((id) => aNode({ id }))

/** So many of one model, each on a node of its own. */
const spread = (modelName: string, count: number, state: ReplicaState = 'reserved'): Replica[] =>
  Array.from({ length: count }, (_, i) =>
    aReplica({ id: `${modelName}${i}`, modelName, nodeId: `n${i}`, state, generation: i }),
  )
const manyNodes = (count: number) => nodes(...Array.from({ length: count }, (_, i) => `n${i}`))

test('a node starts four at a time, those first that were placed first, and keeps no other node waiting', () => {
  const starts = nextStarts([...many(6, 'a', 'reserved'), ...many(1, 'b', 'reserved')], nodes('a', 'b'))
  expect(starts.map(({ id }) => id)).toEqual(['a5', 'a4', 'a3', 'a2', 'b0'])
})

test('what a node works on already counts, what serves or ends does not', () => {
  const busy = [...many(3, 'a', 'loading'), ...many(5, 'a', 'ready'), ...many(5, 'a', 'stopping')]
  expect(nextStarts([...busy, ...many(3, 'a', 'reserved')], nodes('a'))).toHaveLength(1)
  expect(nextStarts([...many(4, 'a', 'staging'), ...many(3, 'a', 'reserved')], nodes('a'))).toEqual([])
})

test('a cluster starts 64 at a time, a larger one as many as it has nodes', () => {
  const two = [...spread('a', 60), ...spread('b', 60)]
  expect(nextStarts(two, manyNodes(60))).toHaveLength(64)
  expect(nextStarts([...spread('c', 50, 'loading'), ...two], manyNodes(60))).toHaveLength(14)
  expect(nextStarts([...spread('a', 150), ...spread('b', 150)], manyNodes(150))).toHaveLength(150)
})

test('a model that has nothing under way comes before the next ones of another', () => {
  const starts = nextStarts([...spread('a', 60, 'staging'), ...spread('b', 50), ...spread('c', 2)], manyNodes(60))
  expect(starts.map(({ id }) => id)).toEqual(['b0', 'c0', 'b1', 'c1'])
})

test('a node that is not heard is asked nothing, and what it was to start keeps no other waiting', () => {
  const silent = Array.from({ length: 70 }, (_, i) => aReplica({ nodeId: 'gone', state: 'loading', replicaIndex: i }))
  const gone = aNode({ id: 'gone', liveness: 'offline' })
  const reserved = [aReplica({ id: 'x', nodeId: 'gone', state: 'reserved' }), ...spread('a', 3)]
  const starts = nextStarts([...silent, ...reserved], [gone, ...manyNodes(3)])
  expect(starts.map(({ id }) => id)).toEqual(['a0', 'a1', 'a2'])
})
