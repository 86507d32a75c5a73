import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LineCutter, MOST_LINE_CHARS } from './line-cutter.ts'

test('lines end with a line feed, with or without a carriage return; the last one may lack it', () => {
  expect(cut('one\ntwo\r\n\nfour')).toEqual(['one', 'two', '', 'four'])
})

test('nothing printed is no line', () => {
  expect(cut('')).toEqual([])
  expect(cut('one\n')).toEqual(['one'])
})

test('of a progress bar its last state is left', () => {
  expect(cut('10%\r50%\r100%\r\ndone\n')).toEqual(['100%', 'done'])
})

test('characters that are split over chunks stay whole', () => {
  expect(cut('größe 😀\n', 1)).toEqual(['größe 😀'])
})

test('bytes that are not UTF-8 harm nobody', () => {
  const lines: string[] = []
  const cutter = new LineCutter((line) => lines.push(line))
  cutter.push(Buffer.from([0x61, 0xff, 0x0a, 0xe2, 0x82]))
  cutter.flush()
  expect(lines).toEqual(['a\uFFFD', '\uFFFD'])
})

test('a long line is cut, between characters, and the next one is whole', () => {
  expect(cut(`${'x'.repeat(3 * MOST_LINE_CHARS)}\nnext\n`, 1000)).toEqual(['x'.repeat(MOST_LINE_CHARS), 'next'])
  const [emoji] = cut(`x${'😀'.repeat(MOST_LINE_CHARS)}\n`)
  expect(emoji).toBe(`x${'😀'.repeat(MOST_LINE_CHARS / 2 - 1)}`)
})

test('a line that never ends takes no memory', () => {
  const lines: string[] = []
  const cutter = new LineCutter((line) => lines.push(line))
  const chunk = Buffer.alloc(65_536, 'y')
  for (let i = 0; i < 1000; i += 1) cutter.push(chunk)
  cutter.flush()
  expect(lines).toEqual(['y'.repeat(MOST_LINE_CHARS)])
})

test('how the bytes arrive makes no difference', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'ü', '😀', '\r', '\n', '\r\n'), maxLength: 60 })
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 9 }), (text, size) => {
      expect(cut(text, size)).toEqual(cut(text))
    }),
  )
})

function cut(text: string, chunkBytes = Infinity): string[] {
  const lines: string[] = []
  const cutter = new LineCutter((line) => lines.push(line))
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += chunkBytes) cutter.push(bytes.subarray(at, at + chunkBytes))
  cutter.flush()
  return lines
}
