import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GrowingBytes } from './growing-bytes.ts'

test('pieces become one, whatever was expected, in memory at most twice as long', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 5000 }), { maxLength: 50 }),
      fc.option(fc.nat(100_000), { nil: undefined }),
      (pieces, expected) => {
        const bytes = new GrowingBytes(expected)
        for (const piece of pieces) bytes.push(Buffer.from(new Uint8Array(piece).buffer))
        const whole = Buffer.concat(pieces)
        expect(bytes.length).toBe(whole.length)
        expect(bytes.take().equals(whole)).toBe(true)
        expect(bytes.take().buffer.byteLength).toBeLessThanOrEqual(Math.max(2 * whole.length, 8192))
      },
    ),
  )
})
