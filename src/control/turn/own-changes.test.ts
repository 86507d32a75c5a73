import { expect, test } from 'vitest'
import { OwnWrites } from './own-changes.ts'

/** A write that ends when the test says so. */
function aWrite(own: OwnWrites, nodeId: string): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const done = own.during({ nodeIds: [nodeId] }, () => promise)
  return () => {
    resolve()
    return done
  }
}

const nodesOf = (own: OwnWrites): string[] => [...(own.touched()?.nodeIds ?? ['unknown'])]

test('a write is noted from its beginning until a turn that began after its end is over', async () => {
  const own = new OwnWrites()
  const end = aWrite(own, 'a')
  const first = own.mark()
  expect(nodesOf(own)).toEqual(['a'])
  await end()
  // It ended while that turn ran, which may not have seen it.
  own.forget(first)
  expect(nodesOf(own)).toEqual(['a'])
  const second = own.mark()
  expect(nodesOf(own)).toEqual(['a'])
  own.forget(second)
  expect(nodesOf(own)).toEqual([])
})

test('one that turned out to change nothing is not noted, nor are nodes that it did not change', async () => {
  const own = new OwnWrites()
  await own.during(
    { nodeIds: ['a', 'b'] },
    async () => 'done',
    () => ['b'],
  )
  expect(nodesOf(own)).toEqual(['b'])
  own.forget(own.mark())
  await own.during(
    { nodeIds: ['a'] },
    async () => 'done',
    () => [],
  )
  expect(nodesOf(own)).toEqual([])
  const failed = own.during(
    { nodeIds: ['a'] },
    () => Promise.reject(new Error('lost')),
    () => [],
  )
  await failed.catch(() => {})
  expect(nodesOf(own)).toEqual(['a'])
})

test('one that failed is noted as well: its commit may have been made', async () => {
  const own = new OwnWrites()
  await own.during({ modelNames: ['m'] }, () => Promise.reject(new Error('lost'))).catch(() => {})
  expect(own.touched()?.modelNames).toEqual(new Set(['m']))
})

test('when no turn takes them in for long, the next one has to read everything', async () => {
  const own = new OwnWrites()
  const end = aWrite(own, 'slow')
  for (let i = 0; i <= 1000; i += 1) await own.during({ nodeIds: [`n${i}`] }, async () => {})
  expect(own.touched()).toBeUndefined()
  own.forget(own.mark())
  expect(nodesOf(own)).toEqual(['slow'])
  await end()
})
