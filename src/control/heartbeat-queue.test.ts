import { expect, test } from 'vitest'
import { aHeartbeat } from '../testing/builders.ts'
import { until } from '../testing/until.ts'
import { HeartbeatQueue } from './heartbeat-queue.ts'
import type { HeartbeatFrom } from './heartbeats.ts'

function from(nodeId: string, seq: number, bootId = 'boot1'): HeartbeatFrom {
  return { nodeId, heartbeat: aHeartbeat({ boot_id: bootId, seq }) }
}

/** A queue whose batches are written when the test says so. */
function aQueue() {
  const batches: string[][] = []
  const written: (() => void)[] = []
  const queue = new HeartbeatQueue((batch) => {
    batches.push(batch.map(({ nodeId, heartbeat }) => `${nodeId} ${heartbeat.boot_id} ${heartbeat.seq}`))
    return new Promise((resolve) => written.push(resolve))
  })
  const next = async (count: number): Promise<void> => {
    written.shift()!()
    await until(() => batches.length === count)
  }
  return { queue, batches, next }
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
