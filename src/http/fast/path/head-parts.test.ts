import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bytesOfHead, putHead, textOfHead, type JoinedHead } from './head-parts.ts'

const aHead = (parts: Partial<JoinedHead> = {}): JoinedHead => ({
  start: Buffer.from('POST / HTTP/1.1\r\nx-request-id: '),
  id: 'one',
  middle: Buffer.from('\r\ncontent-length: '),
  length: 5,
  end: Buffer.from('\r\n\r\n'),
  ...parts,
})

describe('a head in parts', () => {
  test('is said in their order', () => {
    expect(textOfHead(aHead())).toBe('POST / HTTP/1.1\r\nx-request-id: one\r\ncontent-length: 5\r\n\r\n')
  })

  test('may have no id, and say no length', () => {
    expect(textOfHead(aHead({ id: '' }))).toContain('x-request-id: \r\n')
    expect(textOfHead(aHead({ length: -1 }))).toContain('content-length: \r\n')
  })

  test('says any length in its digits, and is as long as it was told to be', () => {
    const lengths = fc.oneof(fc.nat(20_000), fc.maxSafeNat(), fc.constantFrom(0, 9, 10, 99, 100, 999_999, 1_000_000))
    fc.assert(
      fc.property(lengths, fc.stringMatching(/^[!-~]{0,128}$/), (length, id) => {
        const head = aHead({ length, id })
        const text = textOfHead(head)
        expect(text).toBe(`POST / HTTP/1.1\r\nx-request-id: ${id}\r\ncontent-length: ${length}\r\n\r\n`)
        expect(bytesOfHead(head)).toBe(text.length)
      }),
    )
  })

  test('changes nothing behind itself', () => {
    const head = aHead()
    const to = Buffer.alloc(bytesOfHead(head) + 3, 'x')
    putHead(to, head)
    expect(to.toString('latin1')).toBe(`${textOfHead(head)}xxx`)
  })
})
