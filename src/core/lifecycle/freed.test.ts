import { describe, expect, test } from 'vitest'
import { aClaim, aReplica } from '../../../test/support/builders.ts'
import { ASSUMED_READ_MS, freedAfter, MOST_WAIT_MS, type AwaitedFreed } from './freed.ts'

const nowMs = 1_000_000
const on = (bytes: number) => [{ index: 0, bytes }]
const gone = aReplica({ id: 'a', state: 'stopping', readySinceMs: 1, claim: aClaim({ devices: on(7), ram: 2 }) })
const awaited: AwaitedFreed = { replicaId: 'a', devices: on(7), ram: 2, untilMs: nowMs + MOST_WAIT_MS }

describe('what an ended replica held is awaited', () => {
  test('when the reading that came with its end began before it', () => {
    expect(freedAfter([], { ended: [gone], unread: ['a'], nowMs })).toEqual([awaited])
    expect(freedAfter([], { ended: [gone], unread: [], nowMs })).toEqual([])
  })

  test('until a reading has it, however many heartbeats are lost in between', () => {
    expect(freedAfter([awaited], { ended: [], unread: ['a', 'b'], nowMs })).toEqual([awaited])
    expect(freedAfter([awaited], { ended: [], unread: ['b'], nowMs })).toEqual([])
  })

  test('for some time at most: what never comes back is not waited for', () => {
    const late = awaited.untilMs
    expect(freedAfter([awaited], { ended: [], unread: ['a'], nowMs: late - 1 })).toEqual([awaited])
    expect(freedAfter([awaited], { ended: [], unread: ['a'], nowMs: late })).toEqual([])
  })

  test('of a worker that never says, for about as long as it takes to read', () => {
    const [assumed] = freedAfter([], { ended: [gone], unread: undefined, nowMs })
    expect(assumed).toEqual({ ...awaited, untilMs: nowMs + ASSUMED_READ_MS })
    expect(freedAfter([assumed!], { ended: [], unread: undefined, nowMs: nowMs + ASSUMED_READ_MS })).toEqual([])
    const unstarted = { ...gone, state: 'staging' as const }
    expect(freedAfter([], { ended: [unstarted], unread: undefined, nowMs })).toEqual([])
  })

  test('as it was seen once it had loaded, and else as much as it was to have', () => {
    const measured = { devices: on(5), ram: 1 }
    const heldBy = (fields: object) => freedAfter([], { ended: [{ ...gone, ...fields }], unread: ['a'], nowMs })
    expect(heldBy({ measured })).toMatchObject([{ devices: on(5), ram: 1 }])
    expect(heldBy({ measured, readySinceMs: null })).toMatchObject([{ devices: on(7), ram: 2 }])
    expect(heldBy({ measured: { devices: null, ram: 1 } })).toMatchObject([{ devices: on(7), ram: 1 }])
    expect(heldBy({ claim: null })).toEqual([])
  })

  test('of each replica once, and the same list stays when nothing is other', () => {
    const before = [awaited]
    expect(freedAfter(before, { ended: [gone], unread: ['a'], nowMs })).toBe(before)
  })
})
