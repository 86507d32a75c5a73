import { expect, test } from 'vitest'
import { isBefore, OtherLeaders, twoLeaders } from './other-leaders.ts'

const LEASE_MS = 10_000
const leader = (fields: Partial<Parameters<OtherLeaders['hear']>[0]> = {}) => ({
  feed: 'theirs',
  owner: 'f2',
  since: 100,
  address: '10.0.0.2:8080',
  ...fields,
})

test('another leader counts once it has been heard for longer than a lease, and no longer when it has fallen silent', () => {
  const others = new OtherLeaders(LEASE_MS)
  for (let nowMs = 0; nowMs <= 9000; nowMs += 3000) others.hear(leader(), nowMs)
  expect(others.beside(9000)).toBeUndefined()
  others.hear(leader(), 12_000)
  expect(others.beside(12_000)).toEqual(leader())
  expect(others.beside(22_000)).toEqual(leader())
  expect(others.beside(22_001)).toBeUndefined()
})

test('a failover is none: the old leader says a last word, and a woken one hears many at once', () => {
  const others = new OtherLeaders(LEASE_MS)
  others.hear(leader(), 0)
  others.hear(leader(), 100)
  expect(others.beside(100)).toBeUndefined()
  for (let i = 0; i < 20; i += 1) others.hear(leader({ feed: 'that of the new one' }), 30_000)
  expect(others.beside(30_000)).toBeUndefined()
  // It leads again later, as another feed.
  others.hear(leader({ feed: 'another run' }), 32_000)
  expect(others.beside(32_000)).toBeUndefined()
})

test('silence for a lease begins anew, whichever way the clock was set', () => {
  const others = new OtherLeaders(LEASE_MS)
  for (const nowMs of [0, 3000, 3_600_000, 1000, 4000, 7000]) others.hear(leader(), nowMs)
  expect(others.beside(7000)).toBeUndefined()
  others.hear(leader(), 12_000)
  expect(others.beside(12_000)).toEqual(leader())
  others.forget()
  expect(others.beside(12_000)).toBeUndefined()
})

test('of many that lead the first is told of, and so many are remembered at most', () => {
  const others = new OtherLeaders(LEASE_MS)
  for (let nowMs = 0; nowMs <= 12_000; nowMs += 3000) {
    for (let i = 0; i < 12; i += 1) others.hear(leader({ feed: `feed${i}`, since: 50 - i }), nowMs)
  }
  expect(others.beside(12_000)).toMatchObject({ feed: 'feed11' })
  for (let i = 0; i < 1000; i += 1) others.hear(leader({ feed: `other${i}` }), 12_000)
  expect(others.beside(12_000)).toBeUndefined()
})

test('both sides agree which was first, also when they began in the same millisecond under the same name', () => {
  const all = [leader(), leader({ since: 99 }), leader({ owner: 'f1' }), leader({ feed: 'ours' })]
  const pairs = all.flatMap((a) => all.flatMap((b) => (a === b ? [] : [[a, b] as const])))
  expect(pairs.filter(([a, b]) => isBefore(a, b) === isBefore(b, a))).toEqual([])
})

test('what an admin reads names both, and which of them goes on', () => {
  const ours = leader({ feed: 'ours', owner: 'f1', address: '10.0.0.1:8080', since: 50 })
  const first = twoLeaders(ours, leader())
  const later = twoLeaders(leader(), ours)
  for (const { text } of [first, later]) expect(text).toMatch(/10\.0\.0\.1:8080 .*10\.0\.0\.2:8080/)
  expect(first.text).toContain('This one, 10.0.0.1:8080, was first and goes on')
  expect(later.text).toContain('This one, 10.0.0.2:8080, came later and decides nothing')
  expect([first.advice, later.advice].every((advice) => advice?.endsWith('start the one at 10.0.0.2:8080 again'))).toBe(
    true,
  )
})
