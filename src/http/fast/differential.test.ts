import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compareRequests } from '../../../test/support/http/compare-parsers.ts'
import { plainRequests, sentBytes } from '../../../test/support/http/odd-requests.ts'
import { readByWire } from '../../../test/support/http/read-by-wire.ts'
import { smuggledRequests } from '../../../test/support/http/smuggled-requests.ts'

/** Returns how it ended. */
async function compare(text: string): Promise<string> {
  const { end, difference } = await compareRequests(Buffer.from(text, 'latin1'))
  expect(difference).toBeUndefined()
  return end
}

describe('known ways to smuggle requests', () => {
  test.each(Object.entries(smuggledRequests))('%s: nothing is taken for a request that is none', async (_, text) => {
    expect(await compare(text)).toBeTruthy()
  })
})

describe('a plain request', () => {
  test.each(Object.entries(plainRequests))('%s is read here, and the same wherever it is cut', async (_, text) => {
    expect(['waits', 'closed']).toContain(await compare(text))
    const bytes = Buffer.from(text, 'latin1')
    const whole = await readByWire([bytes])
    for (let at = 1; at < bytes.length; at += 1) {
      expect(await readByWire([bytes.subarray(0, at), bytes.subarray(at)]), `cut at ${at}`).toEqual(whole)
    }
    expect(await readByWire(Array.from(bytes, (byte) => Buffer.of(byte)))).toEqual(whole)
  })
})

test('what is unusual reaches the other parser byte for byte, wherever it is cut', async () => {
  for (const text of Object.values(smuggledRequests)) {
    const bytes = Buffer.from(text, 'latin1')
    const whole = await readByWire([bytes])
    for (let at = 1; at < bytes.length; at += 1) {
      const cut = await readByWire([bytes.subarray(0, at), bytes.subarray(at)])
      expect({ ...cut, text }, `cut at ${at}`).toEqual({ ...whole, text })
    }
  }
})

test(
  'whatever is sent, nothing is read that node:http would read otherwise or refuse',
  { timeout: 60_000 },
  async () => {
    const ends: Record<string, number> = {}
    await fc.assert(
      fc.asyncProperty(sentBytes, async (text) => {
        const end = await compare(text)
        ends[end] = (ends[end] ?? 0) + 1
      }),
      { numRuns: 4000 },
    )
    // All ways must have been gone, or the comparison says little.
    expect(Object.keys(ends).toSorted()).toEqual(['closed', 'handed over', 'refused', 'waits'])
  },
)
