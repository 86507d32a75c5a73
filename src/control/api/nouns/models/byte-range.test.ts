import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readRange } from './byte-range.ts'

test.each([
  ['bytes=0-0', { first: 0, last: 0 }],
  ['bytes=2-5', { first: 2, last: 5 }],
  ['bytes=2-', { first: 2, last: 9 }],
  ['bytes=2-999', { first: 2, last: 9 }],
  ['bytes=-3', { first: 7, last: 9 }],
  ['bytes=-99', { first: 0, last: 9 }],
  ['bytes=10-', 'beyond'],
  ['bytes=-0', 'beyond'],
  [undefined, undefined],
  ['bytes=5-2', undefined],
  ['bytes=-', undefined],
  ['bytes=0-1,4-5', undefined],
  ['lines=0-1', undefined],
  ['bytes=a-b', undefined],
])('%s of ten bytes', (header, range) => {
  expect(readRange(header, 10)).toEqual(range)
})

test('nothing of an empty file is there', () => {
  expect(readRange('bytes=0-', 0)).toBe('beyond')
  expect(readRange('bytes=-1', 0)).toBe('beyond')
})

test('what is read is always part of the file', () => {
  const number = fc.option(fc.nat(), { nil: '' })
  fc.assert(
    fc.property(number, number, fc.nat(), (first, last, size) => {
      const range = readRange(`bytes=${first}-${last}`, size)
      if (range === undefined || range === 'beyond') return
      expect(range.first).toBeGreaterThanOrEqual(0)
      expect(range.last).toBeGreaterThanOrEqual(range.first)
      expect(range.last).toBeLessThan(size)
    }),
  )
})
