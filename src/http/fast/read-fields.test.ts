import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readFields } from './read-fields.ts'

function read(lines: string): ReturnType<typeof readFields> {
  const text = `x\r\n${lines}`
  return readFields(Buffer.from(text, 'latin1'), text, 3, text.length)
}

const token = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}$/)
const known = fc.constantFrom('host', 'Host', 'HOST', 'Content-Type', 'content-length', 'x-request-id', 'constructor')
const value = fc.stringMatching(/^(?:[!-~\u0080-\u00ff](?:[\t -~\u0080-\u00ff]{0,30}[!-~\u0080-\u00ff])?)?$/)
const space = fc.stringMatching(/^[ \t]{0,3}$/)
const field = fc.tuple(fc.oneof(token, known), value, space, space)

test('whatever names and values, they are read as they came, without the spaces around them', () => {
  fc.assert(
    fc.property(fc.array(field, { maxLength: 12 }), (fields) => {
      const found = read(fields.map(([name, text, a, b]) => `${name}:${a}${text}${b}\r\n`).join(''))
      expect(found?.rawHeaders).toEqual(fields.flatMap(([name, text]) => [name, text]))
      const last = new Map(fields.map(([name, text]) => [name.toLowerCase(), text]))
      for (const [name, text] of last) expect(found?.headers[name]).toBe(text)
      expect(found?.hasTwice).toBe(last.size < fields.length)
    }),
  )
})

test('nothing is inherited: a name that did not come is not there', () => {
  const found = read('host: a\r\n')
  for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty', 'expect']) {
    expect(found?.headers[name]).toBeUndefined()
  }
})

test.each([
  'host\r\n',
  ': a\r\n',
  'ho st: a\r\n',
  ' host: a\r\n',
  'host : a\r\n',
  'host: a\n',
  'host: a\rb\r\n',
  'host: a\0b\r\n',
  'host: a\x7f\r\n',
  'hést: a\r\n',
])('%j is no header', (lines) => {
  expect(read(lines)).toBeUndefined()
})
