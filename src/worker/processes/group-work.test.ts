import { spawn } from 'node:child_process'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../../../test/support/until.ts'
import { parseTicks, workOfEach } from './group-work.ts'

test.for(['node', ') S 1 2', 'a b'])('the time of a program called %j is that in user and system mode', (name) => {
  expect(parseTicks(`7 (${name}) S 1 7 7 0 -1 4194304 100 0 0 0 31 11 0 0 20 0 1 0 123 456 78`)).toBe(42)
})

test.for(['', '7', '7 (node) S 1 7'])('%j tells of none', (text) => {
  expect(parseTicks(text)).toBe(0)
})

test('a process that works uses more of it, one that is stopped does not', async () => {
  const child = spawn(process.execPath, ['-e', 'for (;;);'], { detached: true })
  onTestFinished(() => void child.kill('SIGKILL'))
  const pid = child.pid!
  const work = async () => (await workOfEach(new Set([pid])))?.get(pid) ?? 0
  await until(async () => (await work()) > 0)
  const before = await work()
  await until(async () => (await work()) > before)
  child.kill('SIGSTOP')
  // What it did until the signal came is counted a moment later.
  let last = -1
  await until(async () => last === (last = await work()))
  expect(await work()).toBe(last)
})
