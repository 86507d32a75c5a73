import { expect, test } from 'vitest'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { RepeatedLines, type Repeated } from './repeated-lines.ts'

test('a failure that repeats is logged once, then once a minute with how often it was left out', async () => {
  const clock = new VirtualClock()
  const lines = new RepeatedLines(clock)
  const logged: Repeated[] = []
  for (let second = 0; second < 121; second++) {
    lines.tell('refused', (repeated) => logged.push(repeated))
    await clock.advance(1000)
  }
  expect(logged).toEqual([{}, { repeated: 59 }, { repeated: 59 }])
})

test('another failure is logged at once', () => {
  const lines = new RepeatedLines(new VirtualClock())
  const logged: string[] = []
  for (const key of ['refused', 'reset', 'refused', 'reset']) lines.tell(key, () => logged.push(key))
  expect(logged).toEqual(['refused', 'reset'])
})

test('failures without number are told apart up to a bound', () => {
  const lines = new RepeatedLines(new VirtualClock())
  let logged = 0
  for (let i = 0; i < 1001; i++) lines.tell(`${i}`, () => logged++)
  lines.tell('1000', () => logged++)
  expect(logged).toBe(1001)
  lines.tell('0', () => logged++)
  expect(logged).toBe(1002)
})
