import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../platform/run/clock.ts'
import { until } from '../../../test/support/until.ts'
import { readIdentity, writeIdentity } from './identity-file.ts'
import { identify, isRunning } from './process-identity.ts'
import { lookAt, lookWithPs } from './process-look.ts'
import { enginesFolder, expectNothingLeft, isAlive, leftOver } from './testing/left-over.ts'
import { TestWorker } from './testing/test-worker.ts'
import { watchdogScript } from './watchdog-script.ts'
import { startWatchdog } from './watchdog.ts'

const family = '(sleep 600 &); setsid sleep 601 & echo up; exec sleep 602'

test.for(['process', 'group'] as const)('kill -9 of the %s of a worker is the end of its engines', async (target) => {
  const folder = enginesFolder()
  const worker = await watched(folder, 0)
  await start(worker, folder, 'one', 'echo up; exec sleep 600')
  await start(worker, folder, 'two', family)
  const { pid } = await worker.heard('watching')
  await worker.kill(target)
  expect(isAlive(pid)).toBe(true)
  await expectNothingLeft(folder)
})

test('engines that ignore SIGTERM end, too', async () => {
  const folder = enginesFolder()
  const worker = await watched(folder, 0)
  await start(worker, folder, 'one', `trap '' TERM; ${family}`)
  const identity = readIdentity(join(folder, 'one'))!
  await worker.kill()
  await expectNothingLeft(folder)
  expect(isRunning(identity)).toBe(false)
})

test('engines may end in their own way', async () => {
  const folder = enginesFolder()
  const trace = join(folder, 'trace')
  const worker = await watched(folder, 0)
  await start(worker, folder, 'one', `trap 'echo bye >>${trace}; exit' TERM; echo up; while :; do sleep 0.05; done`)
  await worker.kill()
  await expectNothingLeft(folder)
  expect(readFileSync(trace, 'utf8')).toBe('bye\n')
})

test('a worker that comes back within the grace period keeps its engines', async () => {
  const folder = enginesFolder()
  const first = await watched(folder, 600_000)
  await start(first, folder, 'one', 'echo up; exec sleep 600')
  const identity = readIdentity(join(folder, 'one'))!
  await first.kill()
  const second = await watched(folder, 0)
  second.tell({ do: 'adopt', folder, name: 'one' })
  await second.heard('adopted')
  const { pid } = await first.heard('watching')
  await until(() => !isAlive(pid))
  expect(isRunning(identity)).toBe(true)
  // The second worker's own watchdog is on guard.
  await second.kill()
  await expectNothingLeft(folder)
})

test('when the grace period is over the engines end', async () => {
  const folder = enginesFolder()
  const worker = await watched(folder, 1500)
  await start(worker, folder, 'one', 'echo up; exec sleep 600')
  const identity = readIdentity(join(folder, 'one'))!
  await worker.kill()
  expect(isRunning(identity)).toBe(true)
  await expectNothingLeft(folder)
})

test('a worker that ends in order takes its watchdog along', async () => {
  const folder = enginesFolder()
  const worker = await watched(folder, 600_000)
  const { pid } = await worker.heard('watching')
  worker.tell({ do: 'end', inOrder: true })
  await worker.ended()
  expect(isAlive(pid)).toBe(false)
  await expectNothingLeft(folder)
})

test('engines end with their worker also when the folder that names them was deleted before', async () => {
  const folder = enginesFolder()
  const worker = await watched(folder, 0)
  await start(worker, folder, 'one', family)
  const identity = readIdentity(join(folder, 'one'))!
  rmSync(folder, { recursive: true })
  await worker.kill()
  await expectNothingLeft(folder)
  expect(isRunning(identity)).toBe(false)
})

test('a new worker on a new folder at the old place cannot take the engines over, so they end', async () => {
  const folder = enginesFolder()
  const first = await watched(folder, 600_000)
  await start(first, folder, 'one', 'echo up; exec sleep 600')
  const lost = readIdentity(join(folder, 'one'))!
  rmSync(folder, { recursive: true })
  await first.kill()
  const second = await watched(folder, 600_000)
  await start(second, folder, 'two', 'echo up; exec sleep 600')
  await until(() => !isRunning(lost))
  expect(isRunning(readIdentity(join(folder, 'two'))!)).toBe(true)
})

test('a watchdog that was started again knows the engines that were there before', async () => {
  const folder = enginesFolder()
  const worker = await watched(folder, 0)
  await start(worker, folder, 'one', 'echo up; exec sleep 600')
  const { pid } = await worker.heard('watching')
  process.kill(pid, 'SIGKILL')
  await until(() => leftOver(folder).some((one) => one !== pid && isWatchdog(one)))
  const identity = readIdentity(join(folder, 'one'))!
  rmSync(folder, { recursive: true })
  await worker.kill()
  await expectNothingLeft(folder)
  expect(isRunning(identity)).toBe(false)
})

test('a watchdog that dies is replaced', async () => {
  const folder = enginesFolder()
  const watchdog = startWatchdog({ folder, graceMs: 600_000, clock: systemClock })
  const first = watchdog.pid!
  process.kill(first, 'SIGKILL')
  await until(() => watchdog.pid !== first && watchdog.pid !== undefined)
  expect(isAlive(watchdog.pid!)).toBe(true)
  expect(lookAt(watchdog.pid!)).toMatchObject({ group: watchdog.pid, session: watchdog.pid })
  await watchdog.done()
  expect(isAlive(watchdog.pid!)).toBe(false)
  await watchdog.done()
})

test('a watchdog explains itself to ps', async () => {
  const folder = enginesFolder()
  const watchdog = startWatchdog({ folder, graceMs: 0, clock: systemClock })
  // For a moment after its start it is still this process, by another number.
  const line = () => readFileSync(`/proc/${watchdog.pid}/cmdline`, 'utf8')
  await until(() => line().includes('watchdog of a Flotilla worker'))
  await watchdog.done()
  expect(readdirSync(folder)).toEqual(['owner'])
})

test('processes that are not ours are never touched', async () => {
  const folder = enginesFolder()
  const worker = await watched(folder, 0)
  await start(worker, folder, 'one', 'echo up; exec sleep 600')
  const stranger = spawn('sleep', ['600'], { detached: true })
  onTestFinished(() => void stranger.kill('SIGKILL'))
  const { pid, startedAt, boot } = identify(stranger.pid!, 'm')!
  const entries = [
    `${pid}\n${startedAt}1\n${boot}\nm\n`,
    `${pid}\n${startedAt}\nanother\nm\n`,
    `${pid}\n${startedAt}`,
    `-1\n${startedAt}\n${boot}\nm\n`,
    `1\n${startedAt}\n${boot}\nm\n`,
    `$(kill -9 ${pid})\n*\n*\n*\n`,
    '',
  ]
  for (const [index, text] of entries.entries()) {
    mkdirSync(join(folder, `a ${index} *`))
    writeFileSync(join(folder, `a ${index} *`, 'identity'), text)
  }
  await worker.kill()
  await expectNothingLeft(folder)
  expect(isAlive(pid)).toBe(true)
})

test('a watchdog whose engines were taken over while it was about to act does nothing', async () => {
  const folder = enginesFolder()
  const worker = await watched(folder, 0)
  await start(worker, folder, 'one', 'echo up; exec sleep 600')
  writeFileSync(join(folder, 'owner'), 'another\n')
  const { pid } = await worker.heard('watching')
  await worker.kill()
  await until(() => !isAlive(pid))
  const identity = readIdentity(join(folder, 'one'))!
  expect(isRunning(identity)).toBe(true)
})

test('without /proc a watchdog asks ps', async () => {
  const folder = enginesFolder()
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'sysctl'), '#!/bin/sh\necho this-boot', { mode: 0o755 })
  const entries = { ours: 'this-boot', reused: 'this-boot', old: 'another-boot' }
  const children = Object.entries(entries).map(([name, boot]) => {
    const child = spawn('sleep', ['600'], { detached: true })
    onTestFinished(() => void child.kill('SIGKILL'))
    const { startedAt } = lookWithPs(child.pid!) as { startedAt: string }
    mkdirSync(join(folder, name))
    writeIdentity(join(folder, name), {
      pid: child.pid!,
      startedAt: name === 'reused' ? startedAt.replace(/\d+$/, '1999') : startedAt,
      boot,
      mark: 'm',
    })
    return child
  })
  writeFileSync(join(folder, 'owner'), 'token\n')
  const script = watchdogScript.replaceAll('/proc/', '/no-such-proc/')
  const watchdog = spawn('sh', ['-c', script, 'flotilla-watchdog', folder, 'token', '0'], {
    stdio: 'ignore',
    env: { PATH: `${bin}:${process.env['PATH']}` },
  })
  await until(() => watchdog.exitCode !== null)
  await until(() => children[0]!.signalCode !== null)
  expect(children.map(({ signalCode }) => signalCode)).toEqual(['SIGTERM', null, null])
})

async function watched(folder: string, graceMs: number): Promise<TestWorker> {
  const worker = new TestWorker()
  worker.tell({ do: 'watch', folder, graceMs })
  await worker.heard('watching')
  return worker
}

async function start(worker: TestWorker, folder: string, name: string, script: string): Promise<void> {
  worker.tell({ do: 'start', folder, name, argv: ['sh', '-c', script], env: { TEST_FOLDER: folder } })
  await until(() => worker.lines(name).length > 0)
}

function isWatchdog(pid: number): boolean {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('watchdog of a Flotilla worker')
}
