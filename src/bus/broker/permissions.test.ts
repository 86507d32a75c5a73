import { expect, test } from 'vitest'
import { CompiledPermissions, ReplyLedger } from './permissions.ts'

test('publishing needs one pattern that matches, and the answer is the same when asked again', () => {
  const permissions = new CompiledPermissions({ publish: ['a', 'b.*', 'ü.>'], subscribe: [], respond: false })
  const wire = Buffer.from('ü.x').toString('latin1')
  for (let i = 0; i < 2; i += 1) {
    expect(['a', 'b.x', wire, 'b', 'b.x.y', 'c'].map((subject) => permissions.mayPublish(subject))).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
    ])
  }
  for (let i = 0; i < 1_000; i += 1) expect(permissions.mayPublish(`b.${i}`)).toBe(true)
})

test('a subscription must lie inside one pattern, stricter than nats-server with b.> inside b.*', () => {
  const permissions = new CompiledPermissions({ publish: [], subscribe: ['b.*', 'c.>', 'd'], respond: false })
  const allowed = ['b.x', 'b.*', 'c.>', 'c.*', 'c.x.>', 'd']
  const refused = ['b.>', 'b', '>', '*.x', 'c', 'd.>', '*']
  expect(allowed.map((pattern) => permissions.maySubscribe(pattern))).not.toContain(false)
  expect(refused.map((pattern) => permissions.maySubscribe(pattern))).not.toContain(true)
})

test('a permission that is no pattern is refused', () => {
  for (const pattern of ['', 'a..b', '>.a', 'a b']) {
    expect(() => new CompiledPermissions({ publish: [pattern], subscribe: [], respond: false })).toThrow(
      /not a subject/,
    )
  }
})

test('a reply may be sent once, until it expires', () => {
  const ledger = new ReplyLedger(10, 1_000)
  ledger.remember('r1', 0)
  ledger.remember('r2', 500)
  expect(ledger.spend('other', 600)).toBe(false)
  expect(ledger.spend('r1', 999)).toBe(true)
  expect(ledger.spend('r1', 999)).toBe(false)
  expect(ledger.spend('r2', 1_500)).toBe(false)
})

test('only so many replies are remembered, the newest', () => {
  const ledger = new ReplyLedger(3, 1_000)
  for (const reply of ['r1', 'r2', 'r3']) ledger.remember(reply, 0)
  ledger.remember('r1', 1)
  ledger.remember('r4', 2)
  expect(['r2', 'r3', 'r1', 'r4'].map((reply) => ledger.spend(reply, 3))).toEqual([false, true, true, true])
})
