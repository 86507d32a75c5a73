import fc from 'fast-check'
import { expect, test } from 'vitest'
import { pairsOf, pairText, selectorOf } from './selector-pairs.ts'

test('lists are shown with commas and read back as lists', () => {
  const pairs = pairsOf({ tier: 'fast', zone: ['a', 'b'], disk: '!slow', '!spot': '' })
  expect(pairs).toEqual({ tier: 'fast', zone: 'a,b', disk: '!slow', '!spot': '' })
  expect(selectorOf(pairs)).toEqual({ tier: 'fast', zone: ['a', 'b'], disk: '!slow', '!spot': '' })
})

test('what people type around commas does not count', () => {
  expect(selectorOf({ zone: 'a , b,' })).toEqual({ zone: ['a', 'b'] })
  expect(selectorOf({ zone: 'a,' })).toEqual({ zone: 'a' })
  expect(selectorOf({ zone: ',' })).toEqual({ zone: ',' })
})

test('every selector reads back as it was', () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('', 'a,b', '"a"', '[1', '["a"]', ' a ', '!x', ','))
  const selector = fc.dictionary(
    fc.oneof(fc.string(), fc.constantFrom('__proto__', '!k')),
    fc.oneof(text, fc.array(text)),
  )
  fc.assert(
    fc.property(selector, (given) => {
      expect(selectorOf(pairsOf(given))).toEqual(given)
    }),
  )
})

test('what is no selector is shown as far as it can be', () => {
  for (const odd of [null, undefined, 'tier=fast', 7, ['a']]) expect(pairsOf(odd)).toEqual({})
  expect(pairsOf({ count: 3, deep: { a: [1] }, none: null })).toEqual({ count: '3', deep: '{"a":[1]}', none: 'null' })
})

test('a label that must not be there has no value to show', () => {
  expect(pairText('!spot', '')).toBe('!spot')
  expect(pairText('tier', 'fast')).toBe('tier=fast')
  expect(pairText('empty', '')).toBe('empty=')
})
