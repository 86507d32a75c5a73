import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseBytes } from './bytes.ts'

test.each([
  ['0', 0],
  ['0GiB', 0],
  ['12GB', 12e9],
  [' 12.5 GiB ', 12.5 * 2 ** 30],
  ['512mib', 512 * 2 ** 20],
  ['12884901888', 12_884_901_888],
  ['7b', 7],
])('%j is a size', (text, bytes) => {
  expect(parseBytes(text)).toBe(bytes)
})

test.each(['', 'GiB', '-1', '1.5', '1.5B', '12 Gib s', '80%', '1e9', '12GiB2', '99999999999TiB', 'NaN'])(
  '%j is none',
  (text) => {
    expect(parseBytes(text)).toBeUndefined()
  },
)

test('whatever is written, the answer is a whole number of bytes or nothing', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^\d{1,20}(\.\d{1,5})?(k|M|g|T)?(i?[bB])?$/)), (text) => {
      const bytes = parseBytes(text)
      expect(bytes === undefined || (Number.isSafeInteger(bytes) && bytes >= 0)).toBe(true)
    }),
  )
})
