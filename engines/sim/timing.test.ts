import fc from 'fast-check'
import { expect, test } from 'vitest'
import { requestMs, timeToFirstTokenMs, tokenDelayMs } from './timing.ts'

const timings = fc.record({
  ttftMs: fc.nat(10_000),
  prefillTokensPerS: fc.nat(100_000),
  tokensPerS: fc.nat(1000),
})
const tokens = fc.nat(100_000)

test('a cached prefix is not read again', () => {
  const timing = { ttftMs: 50, prefillTokensPerS: 1000, tokensPerS: 60 }
  expect(timeToFirstTokenMs(timing, 500, 0)).toBe(550)
  expect(timeToFirstTokenMs(timing, 500, 400)).toBe(150)
})

test('zero means no time at all', () => {
  const timing = { ttftMs: 0, prefillTokensPerS: 0, tokensPerS: 0 }
  expect(tokenDelayMs(timing)).toBe(0)
  expect(requestMs(timing, { promptTokens: 9000, cachedTokens: 0, completionTokens: 9000 })).toBe(0)
})

test('more to read or write never takes less time, more in the cache never takes more', () => {
  fc.assert(
    fc.property(
      timings,
      tokens,
      tokens,
      tokens,
      fc.nat(1000),
      (timing, promptTokens, cached, completionTokens, more) => {
        const cachedTokens = Math.min(cached, promptTokens)
        const base = requestMs(timing, { promptTokens, cachedTokens, completionTokens })
        const longer = { promptTokens: promptTokens + more, cachedTokens, completionTokens }
        expect(requestMs(timing, longer)).toBeGreaterThanOrEqual(base)
        const wordier = { promptTokens, cachedTokens, completionTokens: completionTokens + more }
        expect(requestMs(timing, wordier)).toBeGreaterThanOrEqual(base)
        const warmer = { promptTokens, cachedTokens: Math.min(promptTokens, cachedTokens + more), completionTokens }
        expect(requestMs(timing, warmer)).toBeLessThanOrEqual(base)
        expect(base).toBeGreaterThanOrEqual(timing.ttftMs)
      },
    ),
  )
})
