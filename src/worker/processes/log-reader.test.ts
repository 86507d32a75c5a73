import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../platform/run/clock.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'
import { closeAll, makePipes, openPipes } from './log-pipes.ts'
import { LogReader } from './log-reader.ts'

test('an engine that floods its output is read at a bounded pace, and its last lines are still there', async () => {
  const folder = join(tempFolder(), 'replica')
  await makePipes(folder)
  const { forEngine, forUs } = openPipes(folder)
  let bytes = 0
  const reader = new LogReader(forUs, (_, line) => (bytes += line.length + 1))
  onTestFinished(() => reader.close())
  const sinceMs = performance.now()
  const script = 'timeout 1 yes 0123456789012345678901234567890123456789; echo the end'
  const engine = spawn('sh', ['-c', script], { stdio: ['ignore', forEngine[0]!, forEngine[1]!] })
  closeAll(forEngine)
  await until(() => engine.exitCode !== null)
  await reader.finish(Promise.resolve(), systemClock)
  const tenths = (performance.now() - sinceMs) / 100 + 1
  expect(bytes).toBeGreaterThan(400_000)
  // What was read of a pipe at once, 64 KiB, may come on top.
  expect(bytes).toBeLessThan(tenths * (400_000 + 65_536))
  expect(reader.lastLines.at(-1)).toBe('the end')
})
