import { expect, test } from 'vitest'
import { TextPieces } from './text-pieces.ts'

/** A tokenizer whose tokens are bytes. */
const bytes = {
  detokenize: (tokens: readonly number[]): string => Buffer.from(tokens).toString('utf8'),
}

test('a character that is spread over tokens is told once it is whole', () => {
  const pieces = new TextPieces(bytes, false, [])
  const told = [...Buffer.from('né 🚢!')].map((byte) => pieces.add(byte))
  expect(told).toEqual(['n', '', 'é', ' ', '', '', '', '🚢', '!'])
  expect(pieces.rest()).toBe('')
})

test('what never becomes a character is told all the same', () => {
  const pieces = new TextPieces(bytes, false, [])
  expect(pieces.add(0xf0)).toBe('')
  expect(pieces.rest()).toBe('\uFFFD')
  const broken = [0xff, 0xff, 0xff, 0xff].map((byte) => pieces.add(byte))
  expect(broken.join('')).toMatch(/^\uFFFD+$/)
})
