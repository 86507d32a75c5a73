import { describe, expect, test } from 'vitest'
import { aReplica } from '../../../test/support/builders.ts'
import type { ReplicaState } from '../types.ts'
import { judgeHeartbeat, type ReportedReplica } from './judge-heartbeat.ts'

const reported = (id: string, state: ReportedReplica['state'], generation = 1): ReportedReplica => ({
  id,
  state,
  generation,
})

describe('one heartbeat against the rows of its node', () => {
  test('a replica that became ready is moved to ready', () => {
    const replica = aReplica({ id: 'a', state: 'loading' })
    const { moves } = judgeHeartbeat([replica], { seq: 5, replicas: [reported('a', 'ready')] })
    expect(moves).toEqual([{ replica, to: 'ready', error: null, outOfMemory: false }])
  })

  test('a failure brings its reason along', () => {
    const replica = aReplica({ id: 'a', state: 'ready' })
    const failed = { ...reported('a', 'failed'), error: 'exit code 1' }
    expect(judgeHeartbeat([replica], { seq: 5, replicas: [failed] }).moves).toEqual([
      { replica, to: 'failed', error: 'exit code 1', outOfMemory: false },
    ])
  })

  test('a start is followed through its phases, and never back', () => {
    const row = aReplica({ id: 'a', state: 'staging' })
    const to = (state: ReportedReplica['state']) =>
      judgeHeartbeat([row], { seq: 5, replicas: [reported('a', state)] }).moves.map((move) => move.to)
    expect((['installing', 'staging', 'loading', 'ready'] as const).map(to)).toEqual([[], [], ['loading'], ['ready']])
  })

  test('a worker that ends a replica by itself is believed, and it is not lost when it is gone', () => {
    const replica = aReplica({ id: 'a', state: 'ready' })
    const { moves } = judgeHeartbeat([replica], { seq: 5, replicas: [reported('a', 'draining')] })
    expect(moves).toMatchObject([{ to: 'draining' }])
    const draining = { ...replica, state: 'draining' as const }
    expect(judgeHeartbeat([draining], { seq: 6, replicas: [] }).gone).toEqual([{ replica: draining, lost: false }])
  })

  test.each(['draining', 'stopping'] as const)('a replica is not brought back by an older word: %s', (state) => {
    const replica = aReplica({ id: 'a', state })
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
    ['installing', true],
    ['staging', true],
    ['draining', true],
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
