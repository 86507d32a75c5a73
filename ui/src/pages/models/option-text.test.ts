import fc from 'fast-check'
import { expect, test } from 'vitest'
import { optionOf, optionsOf, optionText, optionTexts } from './option-text.ts'

test('numbers and booleans stay what they are, and text that looks like one is in quotes', () => {
  expect(optionTexts({ context: 8192, share: 0.9, jinja: true, type: 'q8_0', port: '8192', word: 'true' })).toEqual({
    context: '8192',
    share: '0.9',
    jinja: 'true',
    type: 'q8_0',
    port: '"8192"',
    word: '"true"',
  })
})

test('what is typed becomes what it looks like', () => {
  expect(optionOf(' 8192 ')).toBe(8192)
  expect(optionOf('-1')).toBe(-1)
  expect(optionOf('false')).toBe(false)
  expect(optionOf('007')).toBe('007')
  expect(optionOf('"half')).toBe('"half')
  expect(optionOf('')).toBe('')
})

test('all options read back as they were', () => {
  const value = fc.oneof(
    fc.string(),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((number) => !Object.is(number, -0)),
    fc.constantFrom('true', '"x"', '1', ' a ', 'Infinity', '1e3'),
  )
  fc.assert(
    fc.property(fc.dictionary(fc.string(), value), (options) => {
      expect(optionsOf(optionTexts(options))).toEqual(options)
    }),
  )
  expect(optionText(' a ')).toBe('" a "')
})
