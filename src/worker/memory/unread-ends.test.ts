import { expect, test } from 'vitest'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { UnreadEnds, type EndingReplica } from './unread-ends.ts'

function someEnds() {
  const clock = new VirtualClock(1000)
  const replicas = new Map<string, EndingReplica>()
  const put = (id: string, state: string, pid?: number): void => void replicas.set(id, { spec: { id }, state, pid })
  return { clock, replicas, put, ends: new UnreadEnds({ replicas: () => [...replicas.values()], clock }) }
}

test('a replica that has ended is unread until a reading that began after its end', async () => {
  const { clock, replicas, put, ends } = someEnds()
  put('a', 'ready', 7)
  expect(ends.unread()).toEqual([])
  const slowMs = clock.nowMs()
  await clock.advance(100)
  replicas.delete('a')
  expect(ends.isOpen()).toBe(true)
  expect(ends.unread()).toEqual(['a'])
  await clock.advance(700)
  expect(ends.read(slowMs)).toBe(false)
  expect(ends.unread()).toEqual(['a'])
  expect(ends.read(clock.nowMs())).toBe(true)
  expect(ends.unread()).toEqual([])
  expect(ends.isOpen()).toBe(false)
})

test('one whose first process is gone still counts as running while it is stopped: others of its group may live', async () => {
  const { clock, put, ends } = someEnds()
  put('a', 'stopping', 7)
  ends.unread()
  put('a', 'stopping')
  expect(ends.unread()).toEqual([])
  expect(ends.read(clock.nowMs())).toBe(false)
})

test('one that has failed is unread as soon as that is told, also while its process still ends', async () => {
  const { clock, put, ends } = someEnds()
  put('a', 'loading', 7)
  ends.unread()
  put('a', 'failed', 7)
  expect(ends.unread()).toEqual(['a'])
  expect(ends.read(clock.nowMs())).toBe(false)
  put('a', 'failed')
  expect(ends.unread()).toEqual(['a'])
  expect(ends.read(clock.nowMs())).toBe(true)
  expect(ends.unread()).toEqual([])
})

test('one that never had a process, and one whose end no tool shows in a minute, are not told', async () => {
  const { clock, replicas, put, ends } = someEnds()
  put('staged', 'staging')
  put('a', 'ready', 7)
  ends.unread()
  replicas.clear()
  expect(ends.unread()).toEqual(['a'])
  await clock.advance(61_000)
  expect(ends.isOpen()).toBe(false)
  expect(ends.unread()).toEqual([])
})
