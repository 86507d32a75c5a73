import { expect, test } from 'vitest'
import { FamiliarHeads } from './head-cache.ts'

const headOf = (path: string, lines = ''): string =>
  `POST ${path} HTTP/1.1\r\nhost: a\r\n${lines}content-length: 5\r\n\r\n`

function learn(heads: FamiliarHeads, text: string, known: unknown = text) {
  const bytes = Buffer.from(`${text}hello`)
  return heads.add(bytes, text.length, known)
}

const find = (heads: FamiliarHeads, text: string) => heads.find(Buffer.from(`${text}hello`))?.known

test('a head that was learnt is found with what is known of it, and nothing else is', () => {
  const heads = new FamiliarHeads()
  learn(heads, headOf('/v1/x'), 'x')
  learn(heads, headOf('/v1/y'), 'y')
  expect([find(heads, headOf('/v1/x')), find(heads, headOf('/v1/y'))]).toEqual(['x', 'y'])
  expect(find(heads, headOf('/v1/z'))).toBeUndefined()
  expect(find(heads, headOf('/v1/x', 'x: y\r\n'))).toBeUndefined()
  for (const bytes of ['', '\r', 'POST /v1/x', 'POST /v1/x HTTP/1.1\r\n']) {
    expect(heads.find(Buffer.from(bytes))).toBeUndefined()
  }
})

test('of each first line the last head is known', () => {
  const heads = new FamiliarHeads()
  learn(heads, headOf('/v1/x'))
  learn(heads, headOf('/v1/x', 'x: y\r\n'))
  expect(find(heads, headOf('/v1/x'))).toBeUndefined()
  expect(find(heads, headOf('/v1/x', 'x: y\r\n'))).toBeDefined()
})

test('a head without a length, or of more than 4 KiB, is not learnt', () => {
  const heads = new FamiliarHeads()
  expect(learn(heads, 'POST /v1/x HTTP/1.1\r\nhost: a\r\n\r\n')).toBeUndefined()
  const room = 4096 - headOf('/v1/x', 'x: \r\n').length
  expect(learn(heads, headOf('/v1/x', `x: ${'y'.repeat(room + 1)}\r\n`))).toBeUndefined()
  expect(find(heads, headOf('/v1/x', `x: ${'y'.repeat(room + 1)}\r\n`))).toBeUndefined()
  expect(learn(heads, headOf('/v1/x', `x: ${'y'.repeat(room)}\r\n`))).toBeDefined()
})

test('there are 500 at most: then all are forgotten, and those who still ask are learnt anew', () => {
  const heads = new FamiliarHeads()
  for (let i = 0; i < 500; i += 1) learn(heads, headOf(`/v1/${i}`))
  expect([find(heads, headOf('/v1/0')), find(heads, headOf('/v1/499'))]).not.toContain(undefined)
  learn(heads, headOf('/v1/500'))
  const found = Array.from({ length: 501 }, (_, i) => find(heads, headOf(`/v1/${i}`))).filter(Boolean)
  expect(found).toEqual([headOf('/v1/500')])
})
