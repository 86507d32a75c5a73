import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalJson } from './canonical-json.ts'
import { cutText } from './cut-text.ts'
import { nearNames } from './near-names.ts'
import { parseReplicaKey, replicaKey } from './replica-key.ts'

describe('canonicalJson', () => {
  test('the order of keys does not matter, at any depth', () => {
    expect(canonicalJson({ b: [{ y: 1, x: 2 }], a: null })).toBe(canonicalJson({ a: null, b: [{ x: 2, y: 1 }] }))
  })

  test('different values give different texts', () => {
    expect(canonicalJson({ a: 1 })).not.toBe(canonicalJson({ a: '1' }))
  })

  test('what it writes is JSON of the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })
})

describe('nearNames', () => {
  test('finds a typo, a swap and a beginning', () => {
    expect(nearNames('--lisen', ['--listen', '--data'])).toEqual(['--listen'])
    expect(nearNames('llmaa', ['llama', 'qwen'])).toEqual(['llama'])
    expect(nearNames('qw', ['qwen-2.5-coder', 'llama'])).toEqual(['qwen-2.5-coder'])
  })

  test('the name itself comes before its own beginning', () => {
    expect(nearNames('up', ['update', 'u', 'up'])).toEqual(['up', 'u', 'update'])
  })

  test('says nothing when nothing is near', () => {
    expect(nearNames('gpt-4o', ['llama', 'qwen'])).toEqual([])
  })

  test('the name itself is always nearest', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.array(fc.string()), (name, others) => {
        expect(nearNames(name, [...others, name])[0]?.toLowerCase()).toBe(name.toLowerCase())
      }),
    )
  })
})

describe('replica keys', () => {
  test('are split at the last #, whatever the model is called', () => {
    const names = fc.string({ unit: 'grapheme', minLength: 1 })
    fc.assert(
      fc.property(names, fc.nat(999_999_999), (modelName, replicaIndex) => {
        expect(parseReplicaKey(replicaKey(modelName, replicaIndex))).toEqual({ modelName, replicaIndex })
      }),
    )
    expect(parseReplicaKey('a#1#2')).toEqual({ modelName: 'a#1', replicaIndex: 2 })
  })

  test.each(['m', '#1', 'm#', 'm#x', 'm#01', 'm#-1', 'm#1.5', 'm#1 ', ''])('%j is none', (text) => {
    expect(parseReplicaKey(text)).toBeUndefined()
  })
})

test('a text is cut at its bound, never within a character', () => {
  expect(cutText('abc', 3)).toBe('abc')
  expect(cutText('abcd', 3)).toBe('ab…')
  expect(cutText('a😀bc', 3)).toBe('a…')
  expect(cutText('a😀bc', 4)).toBe('a😀…')
})
