import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PrefixCache } from './prefix-cache.ts'

const tokens = (...values: number[]): Uint32Array => Uint32Array.from(values)

test('a prompt reuses its longest common prefix with what was seen', () => {
  const cache = new PrefixCache(100)
  cache.remember(tokens(1, 2, 3))
  cache.remember(tokens(1, 9))
  expect(cache.match(tokens(1, 2, 4))).toBe(2)
  expect(cache.match(tokens(1, 9, 9))).toBe(2)
  expect(cache.match(tokens(5))).toBe(0)
})

test('the next turn of a conversation takes the place of the one before', () => {
  const cache = new PrefixCache(100)
  cache.remember(tokens(1, 2))
  cache.remember(tokens(1, 2, 3, 4))
  cache.remember(tokens(1, 2, 3))
  expect(cache.tokens).toBe(4)
  expect(cache.match(tokens(1, 2, 3, 4, 5))).toBe(4)
})

test('what was used least recently goes first', () => {
  const cache = new PrefixCache(4)
  cache.remember(tokens(1, 1))
  cache.remember(tokens(2, 2))
  expect(cache.match(tokens(1, 1))).toBe(2)
  cache.remember(tokens(3, 3))
  expect(cache.match(tokens(2, 2))).toBe(0)
  expect(cache.match(tokens(1, 1))).toBe(2)
})

test('a cache of size 0 remembers nothing', () => {
  const cache = new PrefixCache(0)
  cache.remember(tokens(1))
  expect(cache.match(tokens(1))).toBe(0)
})

test('never more cached than the prompt has, never more held than the capacity', () => {
  const prompts = fc.array(fc.uint32Array({ max: 2, maxLength: 12 }), { maxLength: 40 })
  fc.assert(
    fc.property(fc.nat(20), prompts, (capacity, seen) => {
      const cache = new PrefixCache(capacity)
      for (const prompt of seen) {
        expect(cache.match(prompt)).toBeLessThanOrEqual(prompt.length)
        cache.remember(prompt)
        expect(cache.tokens).toBeLessThanOrEqual(capacity)
        expect(cache.match(prompt)).toBe(Math.min(prompt.length, capacity))
      }
    }),
  )
})
