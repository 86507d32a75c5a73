import { expect, test } from 'vitest'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { Intake } from './intake.ts'

function aSource() {
  const source = {
    isPaused: false,
    pause: () => void (source.isPaused = true),
    resume: () => void (source.isPaused = false),
  }
  return source
}

test('two seconds of the rate may come at once; after that the source is read as fast as the rate', async () => {
  const [clock, source] = [new VirtualClock(), aSource()]
  const intake = new Intake(clock, { bytesPerS: 1000, messagesPerS: 10 })
  intake.take(1500, 0, source)
  intake.take(500, 0, source)
  expect(source.isPaused).toBe(false)
  intake.take(100, 1, source)
  expect(source.isPaused).toBe(true)
  await clock.advance(199)
  expect(source.isPaused).toBe(true)
  await clock.advance(1)
  expect(source.isPaused).toBe(false)
})

test('one that is gone is not resumed', async () => {
  const [clock, source] = [new VirtualClock(), aSource()]
  const intake = new Intake(clock, { bytesPerS: 1000, messagesPerS: 10 })
  intake.take(5000, 0, source)
  intake.dispose()
  await clock.advance(10_000)
  expect(source.isPaused).toBe(true)
})
