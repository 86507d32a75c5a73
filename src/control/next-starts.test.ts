import { expect, test } from 'vitest'
import { aReplica } from '../testing/builders.ts'
import type { ReplicaState } from '../core/types.ts'
import { nextStarts } from './next-starts.ts'

const many = (count: number, nodeId: string, state: ReplicaState) =>
  Array.from({ length: count }, (_, i) => aReplica({ id: `${nodeId}${i}`, nodeId, state, generation: 100 - i }))

test('a node starts four at a time, those first that were placed first, and keeps no other node waiting', () => {
  const starts = nextStarts([...many(6, 'a', 'reserved'), ...many(1, 'b', 'reserved')])
  expect(starts.map(({ id }) => id)).toEqual(['a5', 'a4', 'a3', 'a2', 'b0'])
})

test('what a node works on already counts, what serves or ends does not', () => {
  const busy = [...many(3, 'a', 'loading'), ...many(5, 'a', 'ready'), ...many(5, 'a', 'stopping')]
  expect(nextStarts([...busy, ...many(3, 'a', 'reserved')])).toHaveLength(1)
  expect(nextStarts([...many(4, 'a', 'staging'), ...many(3, 'a', 'reserved')])).toEqual([])
})
