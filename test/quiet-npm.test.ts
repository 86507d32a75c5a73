import { expect, test, vi } from 'vitest'
import { until } from './support/until.ts'
import { watchNpm, wordsOf } from '../scripts/lib/quiet-npm.js'

test('says after a while without a word what npm waits for, and what it said last, without secrets', async () => {
  const said: string[] = []
  const registry = (): Promise<string> => Promise.resolve('registry.test:4873')
  const watch = watchNpm({ registry, say: (line) => said.push(line), quietMs: 30 })
  watch.heard('npm http fetch GET https://me:secret@registry.test:4873/x attempt 1 failed with ECONNREFUSED\n')
  await until(() => said.length > 0)
  watch.end()
  expect(said[0]).toContain('it waits for the package registry registry.test:4873')
  expect(said[0]).toContain('attempt 1 failed with ECONNREFUSED')
  expect(said[0]).not.toContain('secret')
})

test('says nothing while npm gets on, or when its end has come', async () => {
  vi.useFakeTimers()
  const say = vi.fn()
  const watch = watchNpm({ registry: () => Promise.resolve(undefined), say, quietMs: 10_000 })
  for (let i = 0; i < 5; i += 1) {
    await vi.advanceTimersByTimeAsync(9000)
    watch.heard('npm http fetch GET 200 https://registry.test/x 12ms\n')
  }
  expect(say).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(say).toHaveBeenCalledTimes(1)
  watch.end()
  await vi.advanceTimersByTimeAsync(100_000)
  expect(say).toHaveBeenCalledTimes(1)
  vi.useRealTimers()
})

test('of the output of a failure the requests that failed stay, and all other words', () => {
  const output = [
    'npm http fetch GET 200 https://registry.test/a 12ms',
    'npm http fetch GET https://registry.test/b attempt 3 failed with ETIMEDOUT',
    'npm error code ETIMEDOUT',
  ].join('\n')
  expect(wordsOf(output).split('\n')).toEqual([
    'npm http fetch GET https://registry.test/b attempt 3 failed with ETIMEDOUT',
    'npm error code ETIMEDOUT',
  ])
})
