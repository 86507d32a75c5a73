import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compareAnswers } from '../../../test/support/http/compare-parsers.ts'
import { plainAnswers, saidBytes, splitAnswers } from '../../../test/support/http/odd-answers.ts'
import { answerContexts, readAnswerByUs, type AnswerContext } from '../../../test/support/http/read-answer.ts'

/** Returns how it ended. */
async function compare(text: string, context: AnswerContext): Promise<string> {
  const { end, difference } = await compareAnswers(Buffer.from(text, 'latin1'), context)
  expect(difference, JSON.stringify({ text, context })).toBeUndefined()
  return end
}

describe('known ways to split answers', () => {
  test.each(Object.entries(splitAnswers))('%s: nothing is told of it that llhttp would not tell', async (_, text) => {
    for (const context of answerContexts) expect(await compare(text, context)).toBeTruthy()
  })
})

describe('a plain answer', () => {
  test.each(Object.entries(plainAnswers))(
    '%s is read as llhttp reads it, and the same wherever it is cut',
    async (_, text) => {
      for (const context of answerContexts) {
        if (context.method !== 'HEAD') expect(await compare(text, context)).toBe('whole')
      }
      const bytes = Buffer.from(text, 'latin1')
      const whole = readAnswerByUs([bytes])
      for (let at = 1; at < bytes.length; at += 1) {
        expect(readAnswerByUs([bytes.subarray(0, at), bytes.subarray(at)]), `cut at ${at}`).toEqual(whole)
      }
      expect(readAnswerByUs(Array.from(bytes, (byte) => Buffer.of(byte)))).toEqual(whole)
    },
  )
})

test('what is odd is read the same wherever it is cut', () => {
  for (const text of Object.values(splitAnswers)) {
    const bytes = Buffer.from(text, 'latin1')
    const { head, end } = readAnswerByUs([bytes])
    for (let at = 1; at < bytes.length; at += 1) {
      const cut = readAnswerByUs([bytes.subarray(0, at), bytes.subarray(at)])
      expect({ head: cut.head, end: cut.end, text }, `cut at ${at}`).toEqual({ head, end, text })
    }
  }
})

test(
  'whatever an upstream says, nothing is read that llhttp would read otherwise or refuse',
  { timeout: 60_000 },
  async () => {
    const ends: Record<string, number> = {}
    await fc.assert(
      fc.asyncProperty(saidBytes, fc.constantFrom(...answerContexts), async (text, context) => {
        const end = await compare(text, context)
        ends[end] = (ends[end] ?? 0) + 1
      }),
      { numRuns: 4000 },
    )
    // All ways must have been gone, or the comparison says little.
    expect(Object.keys(ends).toSorted()).toEqual(['refused', 'waits', 'whole'])
  },
)
