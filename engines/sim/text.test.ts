import fc from 'fast-check'
import { expect, test } from 'vitest'
import { writeText, writeTokens, type Ask } from './text.ts'

function anAsk(given: Partial<Ask> = {}): Ask {
  return { model: 'demo', seed: 0, prompt: 'How are you?', asked: 'How are you?', maxTokens: 1000, ...given }
}

const asks = fc
  .record({
    model: fc.string({ minLength: 1, maxLength: 20 }),
    seed: fc.integer(),
    asked: fc.string({ unit: 'grapheme', maxLength: 300 }),
    maxTokens: fc.integer({ min: 1, max: 300 }),
    ignoreEnd: fc.boolean(),
    stop: fc.array(fc.constantFrom('.', ' the', 'sea', 'simulator. I am', 'never there', 'e'), { maxLength: 3 }),
  })
  .map((given) => anAsk({ ...given, prompt: `<|user|>\n${given.asked}\n` }))

test('the first sentence says that Flotilla works and where the text comes from', () => {
  const { text, finishReason } = writeText(anAsk())
  expect(text).toMatch(/^Flotilla works end to end: .*"demo".* built-in simulator\. I am a simulated engine/)
  expect(text).toContain('You wrote: "How are you?" Give')
  expect(finishReason).toBe('stop')
})

test('a long question is repeated in part, on one line', () => {
  const { text } = writeText(anAsk({ asked: `line one\n${'and on '.repeat(100)}` }))
  expect(text).toMatch(/You wrote: "line one and on .* and…" Give/)
})

test('the same request has the same answer', () => {
  fc.assert(
    fc.property(asks, (ask) => {
      expect(writeText(ask)).toEqual(writeText({ ...ask }))
    }),
  )
})

test('seed, model and prompt each change the answer', () => {
  const base = writeText(anAsk()).text
  expect(writeText(anAsk({ seed: 1 })).text).not.toBe(base)
  expect(writeText(anAsk({ model: 'other' })).text).not.toBe(base)
  expect(writeText(anAsk({ prompt: 'Be brief. How are you?' })).text).not.toBe(base)
})

test('streamed tokens put together are the plain answer', () => {
  fc.assert(
    fc.property(asks, (ask) => {
      const { text, tokens } = writeText(ask)
      const streamed = [...writeTokens(ask)]
      expect(streamed.join('')).toBe(text)
      expect(streamed).toHaveLength(tokens)
    }),
  )
})

test('never more tokens than allowed, and "length" exactly when more were to come', () => {
  fc.assert(
    fc.property(asks, (asked) => {
      const ask = { ...asked, stop: [] }
      const { text, tokens, finishReason } = writeText(ask)
      const whole = writeText({ ...ask, maxTokens: 400, ignoreEnd: ask.ignoreEnd === true })
      expect(tokens).toBeLessThanOrEqual(ask.maxTokens)
      expect(whole.text.startsWith(text)).toBe(true)
      expect(finishReason).toBe(whole.tokens > tokens ? 'length' : whole.finishReason)
    }),
  )
})

test('the stop text that is complete first ends the answer, and none ever shows', () => {
  fc.assert(
    fc.property(asks, (ask) => {
      const free = writeText({ ...ask, stop: [] })
      const stops = (ask.stop ?? []).filter((stop) => free.text.includes(stop))
      const { text, finishReason } = writeText(ask)
      expect(free.text.startsWith(text)).toBe(true)
      expect(stops.filter((stop) => text.includes(stop))).toEqual([])
      const rest = free.text.slice(text.length)
      expect(stops.length === 0 ? rest === '' : stops.some((stop) => rest.startsWith(stop))).toBe(true)
      expect(finishReason).toBe(stops.length > 0 ? 'stop' : free.finishReason)
    }),
  )
})

test('ignoring the end writes as long as asked', () => {
  expect(writeText(anAsk({ ignoreEnd: true, maxTokens: 5000 }))).toMatchObject({ tokens: 5000, finishReason: 'length' })
})
