import fc from 'fast-check'
import { expect, test } from 'vitest'
import { widthOf } from '../terminal/text-width.ts'
import { WordWrap } from './word-wrap.ts'

function wrapped(pieces: readonly string[], columns: number): string {
  const wrap = new WordWrap(columns)
  return pieces.map((piece) => wrap.feed(piece)).join('') + wrap.flush()
}

test('breaks between words, wherever the pieces are cut', () => {
  expect(wrapped(['a lit', 'tle text that', ' is too', ' long'], 10)).toBe('a little\ntext that\nis too\nlong')
})

test('keeps lines, blank lines and indentation', () => {
  expect(wrapped(['if x:\n    y = 1\n\n', '\tz\n'], 20)).toBe('if x:\n    y = 1\n\n    z\n')
})

test('a word is held back until it is whole, but not for ever', () => {
  const wrap = new WordWrap(80)
  expect([wrap.feed('hel'), wrap.feed('lo '), wrap.feed('船'.repeat(13))]).toEqual(['', 'hello', ` ${'船'.repeat(13)}`])
})

test('whatever comes, no words are lost and only a word that is too wide itself goes over the edge', () => {
  const word = fc.string({ minLength: 1, maxLength: 12 }).map((text) => text.replaceAll(/\s/g, 'x'))
  fc.assert(
    fc.property(fc.array(word, { maxLength: 40 }), fc.integer({ min: 1, max: 9 }), (words, size) => {
      const text = words.join(' ')
      const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
        text.slice(i * size, (i + 1) * size),
      )
      const lines = wrapped(pieces, 20).split('\n')
      expect(lines.join(' ').split(' ').filter(Boolean)).toEqual(words.filter(Boolean))
      for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(20)
    }),
  )
})
