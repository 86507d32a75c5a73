import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Histogram, QUANTILE_ERROR } from './histogram.ts'

const latencies = fc.array(fc.double({ min: 0.01, max: 3_600_000, noNaN: true }), { minLength: 1, maxLength: 300 })
const shares = fc.constantFrom(0, 0.001, 0.1, 0.5, 0.9, 0.95, 0.99, 1)

function exactQuantile(values: readonly number[], share: number): number {
  const rank = Math.max(1, Math.ceil(share * values.length))
  return values.toSorted((a, b) => a - b)[rank - 1]!
}

test('a quantile is off by no more than it says, whatever the values', () => {
  fc.assert(
    fc.property(latencies, shares, (values, share) => {
      const histogram = new Histogram()
      for (const value of values) histogram.add(value)
      const exact = exactQuantile(values, share)
      expect(Math.abs(histogram.quantile(share) - exact) / exact).toBeLessThanOrEqual(QUANTILE_ERROR)
    }),
  )
})

test('count, mean and most are exact, and merged histograms are as one of all values', () => {
  fc.assert(
    fc.property(latencies, latencies, (some, others) => {
      const merged = new Histogram()
      const added = new Histogram()
      const whole = new Histogram()
      for (const value of some) merged.add(value)
      for (const value of others) added.add(value)
      for (const value of [...some, ...others]) whole.add(value)
      merged.merge(added)
      expect([merged.count, merged.most]).toEqual([some.length + others.length, Math.max(...some, ...others)])
      expect(merged.mean).toBeCloseTo(whole.mean, 6)
      for (const share of [0.1, 0.5, 0.99]) expect(merged.quantile(share)).toBe(whole.quantile(share))
    }),
  )
})

test('shares rise from the smallest value to all of them at the largest', () => {
  fc.assert(
    fc.property(latencies, (values) => {
      const histogram = new Histogram()
      for (const value of values) histogram.add(value)
      const all = [...histogram.shares()]
      expect(all.at(-1)!.share).toBe(1)
      for (const [i, { value, share }] of all.entries()) {
        expect(value).toBeGreaterThanOrEqual(all[i - 1]?.value ?? 0)
        expect(share).toBeGreaterThan(all[i - 1]?.share ?? 0)
      }
    }),
  )
})

test('odd values are taken: none, nothing, and more than a day', () => {
  const histogram = new Histogram()
  expect([histogram.quantile(0.5), histogram.mean, [...histogram.shares()]]).toEqual([0, 0, []])
  for (const value of [0, 1e12]) histogram.add(value)
  expect([histogram.quantile(0.5), histogram.quantile(1)]).toEqual([expect.closeTo(0, 2), 1e12])
})
