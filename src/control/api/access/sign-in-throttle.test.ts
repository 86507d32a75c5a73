import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { VirtualClock } from '../../../../test/support/virtual-clock.ts'
import { SignInThrottle } from './sign-in-throttle.ts'

function aThrottle() {
  const clock = new VirtualClock(1_000_000)
  const throttle = new SignInThrottle(clock)
  /** Whether a failure from there was heard at all. */
  const fails = (remoteAddress: string): boolean => {
    try {
      throttle.enter({ socket: { remoteAddress }, headers: {} } as unknown as IncomingMessage)
      return true
    } catch {
      return false
    }
  }
  const heard = (times: number, addressOf: (i: number) => string): number =>
    Array.from({ length: times }, (_, i) => fails(addressOf(i))).filter(Boolean).length
  return { clock, heard, fails }
}

test('each address has its ten a minute', async () => {
  const { clock, heard } = aThrottle()
  for (const address of ['192.0.2.1', '192.0.2.2', '127.0.0.1']) expect(heard(30, () => address)).toBe(10)
  await clock.advance(60_000)
  expect(heard(30, () => '192.0.2.1')).toBe(10)
})

test('the same address in another notation, and the network of one machine, are one', () => {
  const { heard } = aThrottle()
  expect(heard(30, (i) => (i % 2 ? '192.0.2.1' : '::ffff:192.0.2.1'))).toBe(10)
  expect(heard(30, (i) => `2001:db8:1:2:${i}::1`)).toBe(10)
  expect(heard(30, (i) => `2001:db8::${i + 1}`)).toBe(10)
})

test('all strangers together have a hundred, which does not keep this machine out', async () => {
  const { clock, heard, fails } = aThrottle()
  expect(heard(5000, (i) => `10.0.${i >> 8}.${i & 255}`)).toBe(100)
  expect(fails('192.0.2.1')).toBe(false)
  expect(fails('127.0.0.1')).toBe(true)
  await clock.advance(60_000)
  expect(fails('192.0.2.1')).toBe(true)
})
