import { expect, test } from 'vitest'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { atMost } from './clock.ts'

test('who waits for something at most so long goes on when it is there, has failed, or the time is up', async () => {
  const clock = new VirtualClock()
  await atMost(clock, 1000, Promise.resolve())
  await atMost(clock, 1000, Promise.reject(new Error('no')))
  const ended: number[] = []
  void atMost(clock, 1000, new Promise(() => {})).then(() => ended.push(clock.nowMs()))
  await clock.advance(999)
  expect(ended).toEqual([])
  await clock.advance(1)
  expect(ended).toEqual([1000])
})
