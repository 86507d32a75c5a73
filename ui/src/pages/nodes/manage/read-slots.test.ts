import { expect, test } from 'vitest'
import { readSlots } from './read-slots.ts'

test('a whole number from 1 on is new, or the same as before', () => {
  expect(readSlots(' 4 ', 2)).toEqual({ is: 'new', value: 4 })
  expect(readSlots('2', 2)).toEqual({ is: 'same' })
})

test.each(['', ' ', '0', '-1', '1.5', 'two', 'NaN', 'Infinity'])('%j is no number of slots', (typed) => {
  expect(readSlots(typed, 2)).toEqual({ is: 'wrong' })
})
