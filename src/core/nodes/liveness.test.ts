import { expect, test } from 'vitest'
import { judgeLiveness, livenessLimits, type LivenessNow, type Silent } from './liveness.ts'

const limits = livenessLimits(5000, 60_000)
const now: LivenessNow = { nowMs: 1_000_000, hearingSinceMs: 0, answering: [] }

function silentFor(ms: number | null, liveness: Silent['liveness'] = 'online'): Silent {
  return { id: 'n', name: 'thor', liveness, lastHeartbeatMs: ms === null ? null : now.nowMs - ms }
}

function judged(node: Silent, change: Partial<LivenessNow> = {}) {
  return judgeLiveness([node], limits, { ...now, ...change })[0]?.liveness
}

test('a node is unreachable after three missed heartbeats, and offline after the time that is configured', () => {
  expect(judged(silentFor(15_000))).toBeUndefined()
  expect(judged(silentFor(15_001))).toBe('unreachable')
  expect(judged(silentFor(60_000, 'unreachable'))).toBeUndefined()
  expect(judged(silentFor(60_001, 'unreachable'))).toBe('offline')
  expect(judged(silentFor(60_001))).toBe('offline')
})

test('a short time until offline comes before the missed heartbeats', () => {
  expect(livenessLimits(5000, 8000)).toEqual({ unreachableAfterMs: 8000, offlineAfterMs: 8000 })
})

test('while control could not hear, no node was silent', () => {
  const hearingSinceMs = now.nowMs - 20_000
  expect(judged(silentFor(500_000), { hearingSinceMs })).toBe('unreachable')
  expect(judged(silentFor(500_000), { hearingSinceMs: now.nowMs })).toBeUndefined()
})

test('a node that was never heard is judged from when control began to hear', () => {
  expect(judged(silentFor(null))).toBe('offline')
  expect(judged(silentFor(null), { hearingSinceMs: now.nowMs - 1000 })).toBeUndefined()
})

test('a node whose replicas answer requests is not given up, however long its heartbeats are missing', () => {
  expect(judged(silentFor(500_000), { answering: ['n'] })).toBe('unreachable')
  expect(judged(silentFor(500_000, 'unreachable'), { answering: ['n'] })).toBeUndefined()
})

test('silence never makes a node better', () => {
  expect(judged(silentFor(0, 'offline'))).toBeUndefined()
  expect(judged(silentFor(20_000, 'offline'))).toBeUndefined()
  expect(judged(silentFor(20_000, 'unreachable'))).toBeUndefined()
})
