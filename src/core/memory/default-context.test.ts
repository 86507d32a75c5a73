import { expect, test } from 'vitest'
import { defaultContext } from './default-context.ts'

test('the context is what the model was trained for, but no more than 8192 tokens', () => {
  expect([1024, 8192, 131_072].map(defaultContext)).toEqual([1024, 8192, 8192])
})

test('a file that does not say leaves it open', () => {
  expect(defaultContext(0)).toBeUndefined()
})
