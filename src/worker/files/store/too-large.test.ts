import { expect, test } from 'vitest'
import { VirtualClock } from '../../../../test/support/virtual-clock.ts'
import { TooLarge } from './too-large.ts'

const FULL = 'Not enough disk space for f.gguf.'

test('a file that filled the disk is tried again after 30 s, then 60 s, and at once with more room', async () => {
  const clock = new VirtualClock(1_000_000)
  const files = new TooLarge(clock)
  const isRefused = (free = 1000, label = 'f.gguf'): string | undefined => {
    try {
      files.refuse(label, free)
    } catch (error) {
      return (error as Error).message
    }
    return undefined
  }
  expect(isRefused()).toBeUndefined()
  files.note('f.gguf', 1000, FULL)
  expect(isRefused()).toBe(`${FULL} It is tried again in 30 s, or as soon as there is more room.`)
  expect(isRefused(1000, 'g.gguf')).toBeUndefined()
  expect(isRefused(1200)).toBeUndefined()
  await clock.advance(30_000)
  expect(isRefused()).toBeUndefined()
  files.note('f.gguf', 1000, FULL)
  await clock.advance(59_000)
  expect(isRefused()).toContain('in 1 s')
  await clock.advance(1000)
  expect(isRefused()).toBeUndefined()
})

test('the wait grows to 30 minutes and no further', () => {
  const clock = new VirtualClock(1_000_000)
  const files = new TooLarge(clock)
  for (let i = 0; i < 50; i += 1) files.note('f.gguf', 1000, FULL)
  expect(() => files.refuse('f.gguf', 1000)).toThrow('in 1800 s')
})
