import { describe, expect, test } from 'vitest'
import { aReplica } from '../../testing/builders.ts'
import type { ReplicaState } from '../types.ts'
import { judgeHeartbeat } from './judge-heartbeat.ts'
import { retryDelayMs } from './states.ts'

const reported = (id: string, state: 'loading' | 'ready' | 'stopping' | 'failed', generation = 1) => ({
  id,
  state,
  generation,
})

describe('one heartbeat against the rows of its node', () => {
  test('a replica that became ready is moved to ready', () => {
    const replica = aReplica({ id: 'a', state: 'loading' })
    const { moves } = judgeHeartbeat([replica], { seq: 5, replicas: [reported('a', 'ready')] })
    expect(moves).toEqual([{ replica, to: 'ready', error: null }])
  })

  test('a failure brings its reason along', () => {
    const replica = aReplica({ id: 'a', state: 'ready' })
    const failed = { ...reported('a', 'failed'), error: 'exit code 1' }
    expect(judgeHeartbeat([replica], { seq: 5, replicas: [failed] }).moves).toEqual([
      { replica, to: 'failed', error: 'exit code 1' },
    ])
  })

  test('a replica is not brought back by an older word: stopping stays stopping', () => {
    const replica = aReplica({ id: 'a', state: 'stopping' })
    expect(judgeHeartbeat([replica], { seq: 5, replicas: [reported('a', 'ready')] })).toEqual({
      moves: [],
      gone: [],
      strays: [],
    })
  })

  test('a ready replica that is no longer listed is lost', () => {
    const replica = aReplica({ id: 'a', state: 'ready', knownFromSeq: 3 })
    expect(judgeHeartbeat([replica], { seq: 3, replicas: [] }).gone).toEqual([{ replica, lost: true }])
  })

  test('a heartbeat written before the worker knew of the replica says nothing about it', () => {
    const replica = aReplica({ id: 'a', state: 'loading', knownFromSeq: 3 })
    expect(judgeHeartbeat([replica], { seq: 2, replicas: [] }).gone).toEqual([])
  })

  test.each<[ReplicaState, boolean]>([
    ['reserved', false],
    ['failed', false],
    ['stopping', true],
    ['loading', true],
    ['ready', true],
  ])('absent while %s: gone is %s', (state, gone) => {
    const replica = aReplica({ id: 'a', state, knownFromSeq: state === 'reserved' ? null : 1 })
    expect(judgeHeartbeat([replica], { seq: 9, replicas: [] }).gone.length === 1).toBe(gone)
  })

  test('a process without a row, or of another generation than its row, is a stray', () => {
    const replica = aReplica({ id: 'a', generation: 2, state: 'reserved', knownFromSeq: null })
    const { strays, moves } = judgeHeartbeat([replica], {
      seq: 9,
      replicas: [reported('a', 'ready', 1), reported('b', 'ready')],
    })
    expect(strays.map(({ id, generation }) => [id, generation])).toEqual([
      ['a', 1],
      ['b', 1],
    ])
    expect(moves).toEqual([])
  })
})

test('the wait after failures doubles and ends at a minute', () => {
  expect([1, 2, 3, 7, 50].map(retryDelayMs)).toEqual([1000, 2000, 4000, 60_000, 60_000])
})
