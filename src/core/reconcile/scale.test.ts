import { describe, expect, test } from 'vitest'
import { aReplica, aRule } from '../../../test/support/builders.ts'
import { idleBeyondNeed, needsOneMore } from './scale.ts'

const MINUTE = 60_000
const replicas = (count: number, fields: Parameters<typeof aReplica>[0] = {}) =>
  Array.from({ length: count }, (_, replicaIndex) => aReplica({ replicaIndex, readySinceMs: 0, ...fields }))
const load = (busy: number, waiting = 0) => ({ modelName: 'm', busy, waiting })

describe('one more', () => {
  test('when all were in use for a while, or requests wait; up to the maximum', () => {
    const rule = aRule({ minReplicas: 1, maxReplicas: 3 })
    expect(needsOneMore(rule, replicas(2), load(1))).toBe(true)
    expect(needsOneMore(rule, replicas(2), load(0.2, 5))).toBe(true)
    expect(needsOneMore(rule, replicas(2), load(0.5))).toBe(false)
    expect(needsOneMore(rule, replicas(3), load(1, 9))).toBe(false)
    expect(needsOneMore(aRule({ maxReplicas: 0 }), replicas(50), load(1))).toBe(true)
  })

  test('not while one is on its way, nor when nothing is heard, nor where nothing serves, nor on a spread', () => {
    const rule = aRule({ maxReplicas: 0 })
    expect(needsOneMore(rule, [...replicas(1), aReplica({ replicaIndex: 1, state: 'loading' })], load(1))).toBe(false)
    expect(needsOneMore(rule, replicas(1), undefined)).toBe(false)
    expect(needsOneMore(rule, [], load(0, 3))).toBe(false)
    expect(needsOneMore(aRule({ spreadAll: true }), replicas(2), load(1))).toBe(false)
  })
})

describe('what is idle', () => {
  const rule = aRule({ minReplicas: 0 })

  test('goes after five minutes, the highest index first, down to the minimum, and the last one stays', () => {
    const gone = (min: number, nowMs = 5 * MINUTE) =>
      idleBeyondNeed(aRule({ minReplicas: min }), replicas(3), nowMs).map(({ replicaIndex }) => replicaIndex)
    expect(gone(1)).toEqual([2, 1])
    expect(gone(0)).toEqual([2, 1])
    expect(gone(2)).toEqual([2])
    expect(gone(3)).toEqual([])
    expect(gone(1, 5 * MINUTE - 1)).toEqual([])
  })

  test('is what had no request and has none now', () => {
    const busy = replicas(2, { inFlight: 1 })
    const used = replicas(2, { lastUsedMs: MINUTE })
    expect(idleBeyondNeed(rule, busy, 60 * MINUTE)).toEqual([])
    expect(idleBeyondNeed(rule, used, 5 * MINUTE)).toEqual([])
    expect(idleBeyondNeed(rule, used, 6 * MINUTE)).toHaveLength(1)
  })

  test('goes to the last one where the rule says after how long, when all of them are idle', () => {
    const toZero = aRule({ minReplicas: 0, scaleToZeroAfterMs: 10 * MINUTE })
    expect(idleBeyondNeed(toZero, replicas(2), 10 * MINUTE)).toHaveLength(2)
    expect(idleBeyondNeed(toZero, replicas(2), 9 * MINUTE)).toHaveLength(1)
    const [first, second] = replicas(2)
    expect(idleBeyondNeed(toZero, [first!, { ...second!, lastUsedMs: 9 * MINUTE }], 10 * MINUTE)).toEqual([first])
  })

  test('is nothing of a spread', () => {
    expect(idleBeyondNeed(aRule({ spreadAll: true, minReplicas: 0 }), replicas(3), 60 * MINUTE)).toEqual([])
  })
})
