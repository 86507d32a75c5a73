import { expect, test } from 'vitest'
import { VirtualClock } from '../../test/support/virtual-clock.ts'
import { Loading } from './loading.ts'

test('a load says how far it is and is ready in the end', async () => {
  const clock = new VirtualClock()
  const lines: string[] = []
  const loading = new Loading(1000, clock, (line) => lines.push(line))
  loading.start()
  await clock.advance(400)
  expect([loading.ready, loading.progress]).toEqual([false, 0.4])
  await clock.advance(600)
  expect([loading.ready, loading.progress]).toEqual([true, 1])
  expect(lines).toEqual(['loading 25 %', 'loading 50 %', 'loading 75 %', 'ready'])
})

test('a load can be finished early, and says so once', async () => {
  const clock = new VirtualClock()
  const lines: string[] = []
  const loading = new Loading(1000, clock, (line) => lines.push(line))
  loading.start()
  loading.finish()
  await clock.advance(2000)
  expect(lines).toEqual(['ready'])
})
