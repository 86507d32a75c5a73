import fc from 'fast-check'
import { expect, test } from 'vitest'
import { linePlot } from './line-plot.ts'
import { axisFor, position } from './ticks.ts'

const values = fc.array(fc.double({ min: 0, max: 1e9, noNaN: true }), { maxLength: 50 })

test('an axis covers all values, has few ticks, and those rise and lie on it', () => {
  fc.assert(
    fc.property(values, fc.constantFrom('linear' as const, 'log' as const), (all, scale) => {
      const axis = axisFor(all, scale)
      expect(axis.to).toBeGreaterThan(axis.from)
      expect(axis.to).toBeGreaterThanOrEqual(Math.max(0, ...all) * (1 - 1e-9))
      expect(axis.ticks.length).toBeGreaterThan(0)
      expect(axis.ticks.length).toBeLessThanOrEqual(7)
      for (const [i, tick] of axis.ticks.entries()) {
        expect(tick).toBeGreaterThan(i === 0 ? Number.NEGATIVE_INFINITY : axis.ticks[i - 1]!)
        expect(position(axis, tick, 100)).toBeGreaterThanOrEqual(0)
        expect(position(axis, tick, 100)).toBeLessThanOrEqual(100.0001)
      }
    }),
  )
})

test.each([
  [[7.3], [0, 2, 4, 6, 8]],
  [[0.62], [0, 0.2, 0.4, 0.6, 0.8]],
  [[100], [0, 20, 40, 60, 80, 100]],
  [[], [0, 0.2, 0.4, 0.6, 0.8, 1]],
])('the ticks for %j are round', (all, ticks) => {
  expect(axisFor(all, 'linear').ticks).toEqual(ticks)
})

test('a line has a gap where there is no value, and a value between two gaps is a dot', () => {
  const points = [1, 2, null, 4, null, 6, 7].map((y, x) => ({ x, y }))
  const axis = { label: '', text: String }
  const svg = linePlot({ title: 'a', x: axis, y: axis, series: [{ name: 'one', colour: 1, points }] })
  expect(/ d="([^"]*)"/.exec(svg)![1]!.match(/[ML]/g)!.join('')).toBe('MLMML')
  expect(svg.match(/<circle/g)).toHaveLength(1)
})

test('nothing to draw is an empty plot', () => {
  const axis = { label: '', text: String, isTight: true }
  expect(linePlot({ title: 'a', x: axis, y: axis, series: [] })).not.toMatch(/NaN|Infinity/)
})
