import fc from 'fast-check'
import { expect, test } from 'vitest'
import { stepFor, Timeline } from './timeline.ts'

test('whatever happens when, nothing is lost and the pieces stay few', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(100_000_000), { maxLength: 50 }), (times) => {
      const timeline = new Timeline(50)
      for (const atMs of times) {
        timeline.count('due', atMs)
        timeline.time('whole', 5, atMs)
      }
      expect(timeline.pieces.length).toBeLessThanOrEqual(120)
      expect(timeline.pieces.reduce((sum, { due }) => sum + due, 0)).toBe(times.length)
      expect(timeline.pieces.reduce((sum, { whole }) => sum + (whole?.count ?? 0), 0)).toBe(times.length)
      for (const atMs of times) expect(timeline.pieces[Math.floor(atMs / timeline.stepMs)]!.due).toBeGreaterThan(0)
    }),
  )
})

test('one that is widened has the pieces of the other', () => {
  const [short, long] = [new Timeline(100), new Timeline(100)]
  for (const atMs of [0, 150, 350]) for (const one of [short, long]) one.count('answered', atMs)
  long.count('answered', 20_000)
  short.widenTo(long.stepMs)
  expect(long.stepMs).toBe(200)
  expect(short.pieces.map(({ answered }) => answered)).toEqual([2, 1])
})

test.each([
  [30_000, 5, 2000],
  [30_000, 1000, 500],
  [10_000, 0.1, 1000],
  [86_400_000, 100, 3_600_000],
])('a run of %i ms at %d a second is shown in pieces of %i ms', (durationMs, ratePerS, stepMs) => {
  expect(stepFor(durationMs, ratePerS)).toBe(stepMs)
})
