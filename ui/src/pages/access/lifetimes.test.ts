import { expect, test } from 'vitest'
import { expiryOf, modelsOf } from './lifetimes.ts'

test('no end is left out', () => {
  expect(expiryOf('')).toEqual({})
  expect(expiryOf('3600')).toEqual({ expires_in_s: 3600 })
})

test('names of models are separated by commas; none means all', () => {
  expect(modelsOf(' a , b,,a ')).toEqual({ models: ['a', 'b'] })
  expect(modelsOf('  ')).toEqual({})
})
