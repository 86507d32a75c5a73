import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { systemClock } from '../../platform/run/clock.ts'
import { until } from '../../../test/support/until.ts'
import { adoptEngine } from './adopt-engine.ts'
import { killStrays, signalEngine } from './engine-signals.ts'
import { isRunning } from './process-identity.ts'
import { patiently, quickly, startShell } from './testing/an-engine.ts'
import { enginesFolder, expectNothingLeft, isAlive, leftOver } from './testing/left-over.ts'

test('an engine may end in its own way', async () => {
  const { engine, lines } = await startShell(`trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.05; done`)
  await until(() => lines.includes('stdout: up'))
  const exit = await engine.stop(patiently)
  expect(exit).toMatchObject({ code: 7, signal: null })
  expect(exit.lastLines).toEqual(expect.arrayContaining(['up', 'bye']))
})

test('another signal than SIGTERM can be its way', async () => {
  const { engine, lines } = await startShell(`trap 'exit 9' INT; echo up; while :; do sleep 0.05; done`)
  await until(() => lines.length > 0)
  expect(await engine.stop({ signal: 'SIGINT', killAfterMs: 60_000 })).toMatchObject({ code: 9 })
})

test('an engine that does not listen is killed', async () => {
  const { engine, folder, lines } = await startShell(`trap '' TERM; echo up; while :; do sleep 0.05; done`)
  await until(() => lines.length > 0)
  expect(await engine.stop(quickly)).toMatchObject({ code: null, signal: 'SIGKILL' })
  await expectNothingLeft(folder)
})

test('who stops it again with less patience is not kept waiting', async () => {
  const { engine, lines } = await startShell(`trap '' TERM; echo up; while :; do sleep 0.05; done`)
  await until(() => lines.length > 0)
  const first = engine.stop(patiently)
  expect(await engine.stop({ signal: 'SIGTERM', killAfterMs: 0 })).toMatchObject({ signal: 'SIGKILL' })
  expect(await first).toMatchObject({ signal: 'SIGKILL' })
  expect(await engine.stop(patiently)).toMatchObject({ signal: 'SIGKILL' })
})

test('behind a shell that ends at once an engine has as long to end in its own way as without one', async () => {
  const slow = `trap 'sleep 1; echo clean end; exit' TERM; echo up; while :; do sleep 0.05; done`
  const { engine, folder, lines } = await startShell(`sh -c "$SLOW"; true`, { env: { SLOW: slow } })
  await until(() => lines.includes('stdout: up'))
  const exit = await engine.stop(patiently)
  expect(exit.lastLines).toContain('clean end')
  await expectNothingLeft(folder)
})

test('what the shell leaves behind is killed when the time is over', async () => {
  const deaf = `trap '' TERM; echo up; while :; do sleep 0.05; done`
  const { engine, folder, lines } = await startShell(`sh -c "$DEAF"; true`, { env: { DEAF: deaf } })
  await until(() => lines.includes('stdout: up'))
  await engine.stop(quickly)
  expect(leftOver(folder)).toEqual([])
})

test('what an engine started ends with it, whether it was stopped or crashed', async () => {
  const family = `trap '' TERM; (trap '' TERM; sleep 600) & (sleep 600 & exec sleep 601) & echo up; exec sleep 602`
  const stopped = await startShell(family)
  await until(() => stopped.lines.length > 0)
  expect(leftOver(stopped.folder).length).toBeGreaterThan(2)
  await stopped.engine.stop(quickly)
  expect(leftOver(stopped.folder)).toEqual([])

  const crashed = await startShell(family)
  await until(() => crashed.lines.length > 0)
  process.kill(crashed.engine.identity.pid, 'SIGKILL')
  await crashed.engine.exited
  expect(leftOver(crashed.folder)).toEqual([])
})

test('who left the group, and even the session, ends as well', async () => {
  const { engine, folder, lines } = await startShell(
    `setsid sh -c 'setsid sleep 600 & exec sleep 601' & echo up; exec sleep 602`,
  )
  await until(() => lines.length > 0 && leftOver(folder).length >= 3)
  await engine.stop(quickly)
  expect(leftOver(folder)).toEqual([])
})

test('a stranger that holds the pipes keeps nobody waiting for the end', async () => {
  // Out of the group and without the engine's mark: nobody can know that it is one of ours.
  const folder = enginesFolder()
  const stranger = `touch ${folder}/up; echo $$; while :; do echo noise; sleep 0.02; done`
  const script = `setsid env -i sh -c '${stranger}' & until [ -e ${folder}/up ]; do sleep 0.01; done; echo bye; exit 5`
  const { engine, lines } = await startShell(script, { folder })
  const exit = await engine.exited
  expect(exit.code).toBe(5)
  expect(lines).toContain('stdout: bye')
  await engine.stop(quickly)
  const heard = lines.length
  const pid = Number(lines.map((line) => line.split(': ')[1]!).find((text) => /^\d+$/.test(text)))
  expect(isAlive(pid)).toBe(true)
  process.kill(pid, 'SIGKILL')
  await expectNothingLeft(folder)
  expect(lines).toHaveLength(heard)
})

test('a process that only has the number of an engine is not touched', async () => {
  const { engine, folder } = await startShell('exec sleep 60')
  const other = { ...engine.identity, startedAt: '1', mark: 'f'.repeat(32) }
  expect(adoptEngine(other, folder, { clock: systemClock, onLine: () => {} })).toBeUndefined()
  signalEngine(other, 'SIGKILL')
  expect(await killStrays(other, systemClock)).toBe(true)
  // The engine would have been dead before the next process could be started and heard.
  const later = await startShell('echo later', { folder, name: 'later' })
  await later.engine.exited
  expect(isRunning(engine.identity)).toBe(true)
  await engine.stop(quickly)
})

test('what an engine left behind is found by its mark when the engine itself is long gone', async () => {
  const { engine, folder, lines } = await startShell('setsid sleep 600 & echo up; exec sleep 601')
  await until(() => lines.length > 0 && leftOver(folder).length >= 2)
  engine.leave()
  process.kill(engine.identity.pid, 'SIGKILL')
  await until(() => !isRunning(engine.identity))
  expect(leftOver(folder)).toHaveLength(1)
  expect(await killStrays(engine.identity, systemClock)).toBe(true)
  expect(leftOver(folder)).toEqual([])
})

test('an engine that was left runs on, and can be adopted by the same process', async () => {
  const { engine, folder, lines } = await startShell(
    'echo one; while ! [ -e "$TEST_FOLDER/go" ]; do sleep 0.02; done; echo two; exec sleep 60',
  )
  await until(() => lines.length > 0)
  engine.leave()
  const adoptedLines: string[] = []
  const adopted = adoptEngine(engine.identity, `${folder}/one`, {
    clock: systemClock,
    onLine: (_, line) => adoptedLines.push(line),
  })!
  writeFileSync(`${folder}/go`, '')
  await until(() => adoptedLines.length > 0)
  expect(lines).toEqual(['stdout: one'])
  expect(adoptedLines).toEqual(['two'])
  expect(await adopted.stop(quickly)).toEqual({ code: null, signal: null, lastLines: ['two'] })
  await expectNothingLeft(folder)
})
