import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { headForms, headOf } from '../../../../test/support/http/repeated-heads.ts'
import { readHead, type WireHead } from '../read-head.ts'
import { idIn, RepeatedHead } from './head-template.ts'

const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1')
const lengths = fc.constantFrom('0', '7', '007', '16384', '999999999999999')
const ids = fc.string({ unit: fc.constantFrom('a', 'Z', '0', '-', '~', '!', ':', '$&'), minLength: 1, maxLength: 40 })
const VARYING = new Set(['content-length', 'x-request-id'])

function read(bytes: Buffer): WireHead {
  const head = readHead(bytes, '/', 100_000)
  if (typeof head === 'string') throw new Error(`it is not read: ${head}`)
  return head
}

/** All that a head says, but for what may be another each time. */
function sameParts({ method, url, headers, rawHeaders, isLast }: WireHead) {
  const raw = rawHeaders.map((text, i) => (VARYING.has(rawHeaders[i - 1]?.toLowerCase() ?? '') ? '' : text))
  const named = Object.entries(headers).filter(([name]) => !VARYING.has(name))
  return { method, url, raw, isLast, named }
}

/** Whether they match; and when they do, that they are read as the head was that is known. */
function checkMatch(known: string, bytes: Buffer): boolean {
  const repeated = RepeatedHead.of(known)
  if (!repeated?.matches(bytes)) return false
  const head = read(bytes)
  expect(sameParts(head)).toEqual(sameParts(read(bytesOf(known))))
  expect([repeated.bodyAt, repeated.length]).toEqual([head.end, head.length])
  expect(idIn(bytes, repeated)).toBe(head.headers['x-request-id'])
  return true
}

describe('a head that came before', () => {
  test('is known again with another length and another id, and read as it would be', () => {
    const args = [headForms, lengths, ids, lengths, ids, fc.constantFrom('', '{"model":"m"}', '\r\n\r\n')] as const
    fc.assert(
      fc.property(...args, (form, length, id, otherLength, otherId, body) => {
        const bytes = bytesOf(headOf(form, otherLength, otherId) + body)
        expect(checkMatch(headOf(form, length, id), bytes)).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  test('is not known before it has come whole, wherever it is cut', () => {
    fc.assert(
      fc.property(headForms, lengths, ids, (form, length, id) => {
        const text = headOf(form, length, id)
        const repeated = RepeatedHead.of(text)!
        const bytes = bytesOf(text)
        for (let end = 0; end < bytes.length; end += 1) expect(repeated.matches(bytes.subarray(0, end))).toBe(false)
      }),
      { numRuns: 20 },
    )
  })

  test('is not taken for one that differs in a byte, unless that means nothing', () => {
    const byte = fc.oneof(fc.nat(255), fc.constantFrom(...bytesOf('\r\n\t :0a\0')))
    const args = [headForms, fc.nat(), byte, fc.constantFrom('set', 'insert', 'drop')] as const
    let matched = 0
    fc.assert(
      fc.property(...args, (form, at, value, how) => {
        const text = headOf(form, '17', 'id-1')
        const bytes = bytesOf(text)
        const place = at % bytes.length
        const rest = bytes.subarray(how === 'insert' ? place : place + 1)
        const middle = how === 'drop' ? [] : [value]
        const spoiled = Buffer.concat([bytes.subarray(0, place), Buffer.from(middle), rest])
        if (checkMatch(text, spoiled)) matched += 1
      }),
      { numRuns: 4000 },
    )
    expect(matched).toBeGreaterThan(20)
  })

  test('is not taken for another head', () => {
    fc.assert(
      fc.property(headForms, headForms, lengths, ids, (form, other, length, id) => {
        const matches = checkMatch(headOf(form, '17', 'id-1'), bytesOf(headOf(other, length, id)))
        expect(matches).toBe(JSON.stringify(form) === JSON.stringify(other))
      }),
      { numRuns: 500 },
    )
  })

  test('matches only with the same key, byte for byte', () => {
    const of = (key: string): string => `POST /v1/x HTTP/1.1\r\nauthorization: ${key}\r\ncontent-length: 1\r\n\r\n`
    const repeated = RepeatedHead.of(of('Bearer gr\xf6n'))!
    expect(repeated.matches(bytesOf(of('Bearer gr\xf6n')))).toBe(true)
    // The same text in another encoding is another key.
    expect(repeated.matches(Buffer.from(of('Bearer gr\xf6n'), 'utf8'))).toBe(false)
    expect(repeated.matches(bytesOf(of('Bearer gr\xf6')))).toBe(false)
    expect(repeated.matches(bytesOf(of('Bearer gr\xf6nn')))).toBe(false)
  })
})

describe('limits', () => {
  const of = (length: string, id = 'a'): string =>
    `POST /v1/x HTTP/1.1\r\nx-request-id: ${id}\r\ncontent-length: ${length}\r\n\r\n`
  const repeated = RepeatedHead.of(of('5'))!

  test.each(['', '-1', '+5', '0x5', '5 5', '5,5', ' ', 'a', '5a', '1'.repeat(16)])(
    'a length of "%s" is none, and is never known',
    (length) => {
      expect(readHead(bytesOf(of(length)), '/', 1000)).toBe('unsure')
      expect(repeated.matches(bytesOf(of(length)))).toBe(false)
    },
  )

  test('a length of 15 digits is the longest', () => {
    expect(repeated.matches(bytesOf(of('9'.repeat(15))))).toBe(true)
    expect(repeated.length).toBe(999_999_999_999_999)
  })

  test('an id has 128 visible characters at most', () => {
    expect(repeated.matches(bytesOf(of('5', 'x'.repeat(128))))).toBe(true)
    for (const id of ['', 'x'.repeat(129), 'a b', 'a\x7f', '\x80']) {
      expect(repeated.matches(bytesOf(of('5', id)))).toBe(false)
    }
  })

  test.each([
    ['without a length', 'POST / HTTP/1.1\r\nhost: a\r\n\r\n'],
    ['in chunks', 'POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n'],
    ['with two of them', 'POST / HTTP/1.1\r\ncontent-length: 5\r\nContent-Length: 5\r\n\r\n'],
    ['with two names', 'POST / HTTP/1.1\r\ncontent-length: 5\r\nx-request-id: a\r\nX-Request-Id: a\r\n\r\n'],
  ])('a head %s is none to be known again', (_, text) => {
    expect(RepeatedHead.of(text)).toBeUndefined()
  })
})
