import { expect, test } from 'vitest'
import type { ProgressMessage } from '../../api/bus/messages.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { ProgressMeter } from './progress-meter.ts'

test('totals are those of the whole model, and nothing that was told is taken back', async () => {
  const clock = new VirtualClock()
  const told: ProgressMessage[] = []
  const meter = new ProgressMeter(clock, (progress) => told.push(progress), 2)
  const set = async (source: string, path: string, doneBytes: number, ofFiles: number): Promise<ProgressMessage> => {
    meter.set(source, { path, doneBytes, totalBytes: 100, arrivedBytes: doneBytes, ofFiles })
    await clock.advance(1000)
    return told.at(-1)!
  }
  // Of one of two sources nothing is known yet, then not everything.
  expect(await set('a', '1', 0, 3)).toEqual({ file: null, done_bytes: 0, total_bytes: null, bytes_per_s: null })
  expect(await set('b', '1', 0, 1)).toMatchObject({ total_bytes: null, file_index: 1, total_files: 4 })
  await set('a', '2', 0, 3)
  expect(await set('a', '3', 50, 3)).toMatchObject({ done_bytes: 50, total_bytes: 400, file_index: 1, total_files: 4 })
  expect(await set('a', '1', 100, 3)).toMatchObject({ file: '1', done_bytes: 150, file_index: 2 })
  expect(await set('b', '1', 100, 1)).toMatchObject({ file_index: 3, total_files: 4 })
  // It had to begin anew.
  expect(await set('b', '1', 0, 1)).toMatchObject({ done_bytes: 250, file_index: 3 })
  await set('b', '1', 100, 1)
  await set('a', '2', 100, 3)
  expect(await set('a', '3', 100, 3)).toMatchObject({ done_bytes: 400, file_index: 4, total_files: 4 })
})
