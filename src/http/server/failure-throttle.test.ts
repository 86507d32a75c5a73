import { expect, test } from 'vitest'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { AppError } from '../../platform/errors.ts'
import type { HttpRequest } from '../exchange.ts'
import { WrongKeys } from './failure-throttle.ts'

const wrong = new AppError('unauthorized', 'The key is wrong.')

function aScene() {
  const clock = new VirtualClock(1_000_000)
  const keys = new WrongKeys(clock)
  const request = (remoteAddress: string, headers: Record<string, string>) =>
    ({ socket: { remoteAddress }, headers }) as unknown as HttpRequest
  const shown = { authorization: 'Bearer fk_x' }
  const judge = (address: string, headers: Record<string, string> = shown, thrown: unknown = wrong): unknown =>
    keys.judge(request(address, headers), thrown)
  return { clock, judge }
}

test('after twenty wrong keys within a minute an address is told to wait, with the time to wait', async () => {
  const { clock, judge } = aScene()
  for (let i = 0; i < 20; i += 1) expect(judge('192.0.2.1')).toBe(wrong)
  await clock.advance(15_000)
  expect(judge('192.0.2.1')).toMatchObject({ code: 'busy', status: 429, retryAfterS: 45 })
  expect(judge('::ffff:192.0.2.1')).toMatchObject({ code: 'busy' })
  expect(judge('192.0.2.2')).toBe(wrong)
  await clock.advance(45_000)
  expect(judge('192.0.2.1')).toBe(wrong)
})

test('what is no wrong key is not counted: none at all, one without the scope, a store that is away', () => {
  const { judge } = aScene()
  const others = [new AppError('forbidden', 'scope'), new AppError('unavailable', 'store'), new Error('x')]
  for (let i = 0; i < 50; i += 1) {
    expect(judge('192.0.2.1', {})).toBe(wrong)
    for (const other of others) expect(judge('192.0.2.1', undefined, other)).toBe(other)
  }
  expect(judge('192.0.2.1')).toBe(wrong)
})

test('programs on this machine are told of their key, those behind a proxy on it are counted', () => {
  const { judge } = aScene()
  const proxied = { authorization: 'Bearer x', 'x-forwarded-for': '203.0.113.7' }
  for (let i = 0; i < 30; i += 1) judge('127.0.0.1', proxied)
  expect(judge('127.0.0.1', proxied)).toMatchObject({ code: 'busy' })
  for (let i = 0; i < 30; i += 1) expect(judge('127.0.0.1')).toBe(wrong)
})

test('a machine has one count for all its IPv6 addresses, and no number of machines fills the memory', () => {
  const { judge } = aScene()
  const from = (i: number): string => `2001:db8:1:2:${i.toString(16)}::1`
  for (let i = 0; i < 20; i += 1) expect(judge(from(i))).toBe(wrong)
  expect(judge(from(21))).toMatchObject({ code: 'busy' })
  // The 10,000 that came since have pushed it out.
  for (let i = 0; i < 10_000; i += 1) judge(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`)
  expect(judge(from(22))).toBe(wrong)
})
