import fc from 'fast-check'
import { expect, test } from 'vitest'
import { aPart, aPlan } from '../../../../test/support/cli/bench-plan.ts'
import { schedule } from './schedule.ts'

const timesOf = (plan: Parameters<typeof aPlan>[0]) => [...schedule(aPlan(plan))].map(({ dueMs }) => dueMs)

test('constant arrivals come at even steps until the time is up', () => {
  expect(timesOf({ forMs: 3000, part: { ratePerS: 2 } })).toEqual([500, 1000, 1500, 2000, 2500])
})

test('it ends after as many as were asked for, those of the warm-up not counted', () => {
  expect(timesOf({ mostConversations: 2, warmUpMs: 2500 })).toEqual([1000, 2000, 3000, 4000])
})

test('the same seed gives the same times, another one others', () => {
  const plan = { arrivals: 'poisson' as const, part: { ratePerS: 50 } }
  expect(timesOf({ ...plan, seed: 7 })).toEqual(timesOf({ ...plan, seed: 7 }))
  expect(timesOf({ ...plan, seed: 7 })).not.toEqual(timesOf({ ...plan, seed: 8 }))
})

test('poisson arrivals are as many as the rate says, and as uneven as chance is', () => {
  const times = timesOf({ arrivals: 'poisson', forMs: 1_000_000, part: { ratePerS: 20 } })
  const gaps = times.map((dueMs, i) => dueMs - (times[i - 1] ?? 0))
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length
  const deviation = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length)
  expect(mean).toBeCloseTo(50, -0.5)
  // Of independent arrivals the deviation is the mean.
  expect(deviation / mean).toBeCloseTo(1, 1)
})

test('while it ramps up half as many come as later, and those ever more densely', () => {
  const times = timesOf({ forMs: 20_000, rampMs: 10_000, part: { ratePerS: 10 } })
  const between = (fromMs: number, toMs: number) => times.filter((dueMs) => dueMs >= fromMs && dueMs < toMs).length
  expect([between(0, 5000), between(5000, 10_000), between(10_000, 20_000)]).toEqual([12, 37, 100])
})

test('several models come in order of time, each at its own rate, whatever the others do', () => {
  const rates = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(
      rates,
      fc.integer(),
      fc.constantFrom('poisson' as const, 'constant' as const),
      (all, seed, arrivals) => {
        const parts = all.map((ratePerS) => aPart({ ratePerS }))
        const arrived = [...schedule(aPlan({ parts, seed, arrivals, forMs: 2000, rampMs: 500 }))]
        for (const [i, { dueMs }] of arrived.entries()) expect(dueMs).toBeGreaterThanOrEqual(arrived[i - 1]?.dueMs ?? 0)
        const alone = [...schedule(aPlan({ parts: [parts[0]!], seed, arrivals, forMs: 2000, rampMs: 500 }))]
        expect(arrived.filter(({ part }) => part === 0)).toEqual(alone)
      },
    ),
  )
})
