import { expect, test } from 'vitest'
import { AppError, errorTable, toAppError } from './errors.ts'

test("every code has an HTTP error status and OpenAI's fields", () => {
  for (const code of Object.keys(errorTable) as (keyof typeof errorTable)[]) {
    const error = new AppError(code, 'text')
    expect(error.status, code).toBeGreaterThanOrEqual(400)
    expect(Object.keys(error.toBody().error)).toEqual(['message', 'type', 'param', 'code'])
  }
})

test('an unknown failure tells a user nothing about its insides', () => {
  const error = toAppError(new Error('password=hunter2 at /secret/path'))
  expect(error.status).toBe(500)
  expect(JSON.stringify(error.toBody())).not.toContain('hunter2')
})
