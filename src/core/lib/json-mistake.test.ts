import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonMistakeAt } from './json-mistake.ts'

test.each([
  ['', 0],
  ['{', 1],
  ['{oops', 1],
  ['{"a":1,}', 7],
  ['{"a" 1}', 5],
  ['{"a":1 "b":2}', 7],
  ['[1,2', 4],
  ['[1 2]', 3],
  ['[,1]', 1],
  ['{"a":"x', 7],
  ['{"a":tru}', 5],
  ['{"a":01}', 6],
  ['{} {}', 3],
  ['[{"a":[1,{}]}]]', 14],
  ['"a\\x"', 2],
  ['"a\nb"', 2],
])('%s goes wrong at %i', (text, at) => {
  expect(jsonMistakeAt(text)).toBe(at)
})

test('it finds a mistake exactly where JSON.parse refuses, in JSON that was cut, or changed in one place', () => {
  const edit = fc.record({ at: fc.nat(), put: fc.constantFrom('', '}', ']', ',', ':', '"', 'x', '1', '\\', ' ') })
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1), edit, (value, indent, { at, put }) => {
      const whole = JSON.stringify(value, null, indent)
      const place = at % (whole.length + 1)
      for (const text of [whole, whole.slice(0, place), whole.slice(0, place) + put + whole.slice(place + 1)]) {
        let isJson = true
        try {
          JSON.parse(text)
        } catch {
          isJson = false
        }
        expect(jsonMistakeAt(text) === undefined).toBe(isJson)
      }
    }),
  )
})
