import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toBase64 } from '../lib/embedding-list.ts'
import { embed } from './embedding.ts'

function likeness(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0)
}

test('alike texts lie nearer than different ones', () => {
  const question = embed('How do I moor a small boat in a harbour?', 256)
  const near = embed('Mooring small boats in the harbour', 256)
  const far = embed('Quarterly revenue grew by twelve percent', 256)
  expect(likeness(question, near)).toBeGreaterThan(likeness(question, far) + 0.2)
})

test('case and spacing do not matter', () => {
  expect(embed('  Calm\n sea ', 64)).toEqual(embed('calm sea', 64))
})

test('every vector has the length asked for and is a unit vector', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), fc.integer({ min: 1, max: 512 }), (text, dimensions) => {
      const vector = embed(text, dimensions)
      expect(vector).toHaveLength(dimensions)
      expect(likeness(vector, vector)).toBeCloseTo(1, 4)
    }),
  )
})

test('base64 holds the same numbers as little-endian floats', () => {
  const vector = embed('calm sea', 8)
  const bytes = Buffer.from(toBase64(vector), 'base64')
  expect(vector.map((_, index) => bytes.readFloatLE(index * 4))).toEqual(vector)
})
