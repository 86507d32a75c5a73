import { expect, test } from 'vitest'
import { aHeartbeat } from '../../../test/support/builders.ts'
import { until } from '../../../test/support/until.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { HeartbeatQueue } from './queue.ts'
import type { HeartbeatFrom } from './take.ts'

function from(nodeId: string, seq: number, bootId = 'boot1'): HeartbeatFrom {
  return { nodeId, heartbeat: aHeartbeat({ boot_id: bootId, seq }) }
}

/** A queue whose batches are written when the test says so. */
function aQueue() {
  const batches: string[][] = []
  const written: ((isWritten: boolean) => void)[] = []
  const clock = new VirtualClock()
  const take = (batch: HeartbeatFrom[]): Promise<boolean> => {
    batches.push(batch.map(({ nodeId, heartbeat }) => `${nodeId} ${heartbeat.boot_id} ${heartbeat.seq}`))
    return new Promise((resolve) => written.push(resolve))
  }
  const missed = new Set<string>()
  const isMissed = (nodeId: string): boolean => missed.has(nodeId)
  const queue = new HeartbeatQueue({ take, clock, isMissed, quietWaitMs: 1000 })
  const end = async (isWritten = true): Promise<void> => {
    written.shift()!(isWritten)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const next = async (count: number): Promise<void> => {
    await end()
    await until(() => batches.length === count)
  }
  return { queue, batches, next, end, clock, missed }
}

test('the first is written at once, what comes meanwhile is written together', async () => {
  const { queue, batches, next } = aQueue()
  queue.add(from('a', 1))
  await until(() => batches.length === 1)
  for (const nodeId of ['b', 'c', 'd']) queue.add(from(nodeId, 1))
  await next(2)
  expect(batches).toEqual([['a boot1 1'], ['b boot1 1', 'c boot1 1', 'd boot1 1']])
})

test('of one boot only the newest counts, whatever order they come in; another boot has its own say', async () => {
  const { queue, batches, next } = aQueue()
  queue.add(from('a', 1))
  await until(() => batches.length === 1)
  queue.add(from('a', 3))
  queue.add(from('a', 2))
  queue.add(from('a', 1, 'boot2'))
  await next(2)
  expect(batches[1]).toEqual(['a boot1 3', 'a boot2 1'])
})

test('many are written in several transactions, and what waits at the end is dropped', async () => {
  const { queue, batches, next } = aQueue()
  for (let i = 0; i < 250; i += 1) queue.add(from(`n${i}`, 1))
  await until(() => batches.length === 1)
  expect(batches[0]).toHaveLength(100)
  const disposed = queue.dispose()
  await next(1)
  await disposed
  expect(batches).toHaveLength(1)
})

test('one that tells nothing new waits for others, and goes along with the first that does', async () => {
  const { queue, batches, end, clock } = aQueue()
  for (const nodeId of ['a', 'b', 'c']) queue.add(from(nodeId, 1))
  await until(() => batches.length === 1)
  await end()
  queue.add(from('a', 2))
  await clock.advance(600)
  queue.add(from('b', 2))
  expect(batches).toHaveLength(1)
  await clock.advance(400)
  expect(batches[1]).toEqual(['a boot1 2', 'b boot1 2'])
  await end()
  queue.add(from('a', 3))
  queue.add(from('b', 1, 'boot2'))
  await clock.advance(0)
  expect(batches[2]).toEqual(['a boot1 3', 'b boot2 1'])
  await end()
  await clock.advance(5000)
  expect(batches).toHaveLength(3)
})

test('what was not written is new until it is', async () => {
  const { queue, batches, end, clock } = aQueue()
  queue.add(from('a', 1))
  await until(() => batches.length === 1)
  await end(false)
  queue.add(from('a', 2))
  await clock.advance(0)
  expect(batches[1]).toEqual(['a boot1 2'])
})

test('of a node that is taken for silent the first is written at once', async () => {
  const { queue, batches, end, clock, missed } = aQueue()
  queue.add(from('a', 1))
  await until(() => batches.length === 1)
  await end()
  missed.add('a')
  queue.add(from('a', 2))
  await clock.advance(0)
  expect(batches[1]).toEqual(['a boot1 2'])
})

test('one that waits is dropped at the end', async () => {
  const { queue, batches, end, clock } = aQueue()
  queue.add(from('a', 1))
  await until(() => batches.length === 1)
  await end()
  queue.add(from('a', 2))
  await queue.dispose()
  await clock.advance(5000)
  expect(batches).toHaveLength(1)
})
