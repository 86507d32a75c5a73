import { expect, test } from 'vitest'
import { problemParam, problemText } from './problem-text.ts'

const problem = (message: string, ...path: PropertyKey[]) => ({ path, message })

test('names the first three problems and counts the rest', () => {
  expect(problemText([problem('is missing', 'a', 0)], 'the body')).toBe('a.0: is missing')
  const many = Array.from({ length: 100_000 }, (_, i) => problem('is missing', i))
  expect(problemText(many, 'the body')).toBe('0: is missing; 1: is missing; 2: is missing; and 99997 more')
  expect(problemText([problem('is no object')], 'the body')).toBe('the body: is no object')
})

test('is short, however long names and messages are', () => {
  const long = 'x'.repeat(1_000_000)
  expect(problemText([problem(long, long)], 'the body').length).toBeLessThanOrEqual(500)
  expect(problemParam([problem('m', long, long)])!.length).toBeLessThanOrEqual(200)
  expect(problemParam([problem('m')])).toBeNull()
})
