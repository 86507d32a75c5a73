import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hashTokens, splitTokens } from './tokens.ts'

const anyText = fc.oneof(fc.string({ unit: 'binary', maxLength: 200 }), fc.lorem({ maxCount: 30 }))

test('words take the space before them, marks stand alone', () => {
  expect(splitTokens('Hello there, sailor!\n\nGo.')).toEqual([
    'Hello',
    ' there',
    ',',
    ' sailor',
    '!',
    '\n\n',
    'Go',
    '.',
  ])
})

test('no text is one endless token', () => {
  expect(splitTokens('x'.repeat(120))).toHaveLength(10)
  expect(splitTokens('船'.repeat(120))).toHaveLength(10)
})

test('tokens put together are the text, and none is empty', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const tokens = splitTokens(text)
      expect(tokens.join('')).toBe(text)
      expect(tokens).not.toContain('')
    }),
  )
})

test('whole characters stay whole, so that every token survives UTF-8', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 100 }), (text) => {
      for (const token of splitTokens(text)) expect(token.isWellFormed()).toBe(true)
    }),
  )
})

test('hashing counts what splitting finds and keeps no more than asked', () => {
  fc.assert(
    fc.property(anyText, fc.nat(50), (text, keep) => {
      const { count, hashes } = hashTokens(text, keep)
      expect(count).toBe(splitTokens(text).length)
      expect(hashes).toHaveLength(Math.min(count, keep))
    }),
  )
})
