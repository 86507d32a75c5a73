import fc from 'fast-check'
import { expect, test } from 'vitest'
import { StopFinder } from './stop-finder.ts'

/** What is told of a text that comes in these pieces. */
function told(stops: string[], pieces: string[]): { text: string; stop: string | undefined } {
  const finder = new StopFinder(stops)
  let text = ''
  for (const piece of pieces) {
    const found = finder.add(piece)
    text += found.text
    if (found.stop !== undefined) return { text, stop: found.stop }
  }
  return { text: text + finder.rest(), stop: undefined }
}

test('a stop that is spread over pieces is found, and nothing of it is told', () => {
  expect(told(['END'], ['one E', 'N', 'D two'])).toEqual({ text: 'one ', stop: 'END' })
  expect(told(['END'], ['one E', 'N', 'E'])).toEqual({ text: 'one ENE', stop: undefined })
})

test('the first of several stops counts, not the first in the list', () => {
  expect(told(['two', 'one'], ['one two'])).toEqual({ text: '', stop: 'one' })
})

test('what comes after a stop is kept for who wants it', () => {
  const finder = new StopFinder(['<call>'])
  expect(finder.add('hello <call>{"a"')).toEqual({ text: 'hello ', stop: '<call>' })
  expect(finder.rest()).toBe('{"a"')
})

test('however a text is cut, what is told is what comes before its first stop', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 12 })
  const stops = fc.array(
    letters.filter((stop) => stop !== ''),
    { maxLength: 3 },
  )
  fc.assert(
    fc.property(stops, fc.array(letters, { maxLength: 8 }), (stops, pieces) => {
      const text = pieces.join('')
      const places = stops.map((stop) => text.indexOf(stop)).filter((at) => at >= 0)
      const end = places.length === 0 ? text.length : Math.min(...places)
      // A longer stop that begins earlier may be found later than a short one that ends first.
      const { text: before, stop } = told(stops, pieces)
      expect(stop === undefined).toBe(places.length === 0)
      expect(text.startsWith(before)).toBe(true)
      if (stop === undefined) expect(before).toBe(text)
      else expect(before.length).toBeGreaterThanOrEqual(end)
    }),
  )
})
