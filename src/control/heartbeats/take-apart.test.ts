import { expect, test } from 'vitest'
import { AppError } from '../../platform/errors.ts'
import { takeApart } from './take-apart.ts'

const bad = new AppError('bad_request', 'Text may not contain the NUL character.')

function aStore(failure: (part: readonly string[]) => Error | undefined) {
  const asked: string[] = []
  const take = async (part: readonly string[]): Promise<string[]> => {
    asked.push(part.join(''))
    const error = failure(part)
    if (error) throw error
    return [...part]
  }
  return { asked, take }
}

test('what can be written together is', async () => {
  const { asked, take } = aStore(() => undefined)
  expect(await takeApart(['a', 'b'], take, () => {})).toEqual(['a', 'b'])
  expect(asked).toEqual(['ab'])
})

test('one that cannot be written is lost alone', async () => {
  const { take } = aStore((part) => (part.includes('x') ? bad : undefined))
  const refused: unknown[] = []
  expect(await takeApart(['a', 'x', 'b'], take, (one, error) => refused.push([one, error]))).toEqual(['a', 'b'])
  expect(refused).toEqual([['x', bad]])
})

test('a store that is away is asked once', async () => {
  const away = new AppError('unavailable', 'PostgreSQL is away.')
  const { asked, take } = aStore(() => away)
  await expect(takeApart(['a', 'b'], take, () => {})).rejects.toBe(away)
  expect(asked).toEqual(['ab'])
})
