import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../platform/run/clock.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { isAlive, until } from '../../../test/support/until.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { runCommand, type CommandToRun } from './run-command.ts'

function aCommand(command: string[], rest: Partial<CommandToRun> = {}): CommandToRun & { lines: string[] } {
  const lines: string[] = []
  return {
    command,
    folder: tempFolder(),
    env: { PATH: process.env['PATH'] },
    clock: systemClock,
    signal: new AbortController().signal,
    onLine: (line) => lines.push(line),
    lines,
    ...rest,
  }
}

const shell = (script: string): string[] => ['/bin/sh', '-c', script]
const pidIn = (file: string): number => Number(readFileSync(file, 'utf8'))

test('it runs in its folder, with its environment, and its lines are heard', async () => {
  const command = aCommand(shell('pwd; echo "$WORD" >&2'), { env: { PATH: process.env['PATH'], WORD: 'hello' } })
  await runCommand(command)
  expect(command.lines.toSorted()).toEqual([command.folder, 'hello'].toSorted())
})

test('no shell looks at its arguments, and it has nothing to read from', async () => {
  const command = aCommand(['printf', '%s', '$HOME `id` ; * "'])
  await runCommand(command)
  expect(command.lines).toEqual(['$HOME `id` ; * "'])
  await runCommand(aCommand(['cat']))
})

test('a failure says how it ended and what it said last', async () => {
  const failing = runCommand(aCommand(shell('i=0; while [ $i -lt 50 ]; do i=$((i+1)); echo line $i; done; exit 3')))
  await expect(failing).rejects.toThrow(
    /^The command "\/bin\/sh" ended with code 3\. Its last lines:\nline 31\n[^]*\nline 50$/,
  )
})

test('a program that is not there is a failure', async () => {
  await expect(runCommand(aCommand(['flotilla-no-such-program']))).rejects.toThrow(/code 127[^]*not found/)
})

test('a line without an end does not fill the memory', async () => {
  const command = aCommand(shell('head -c 1000000 /dev/zero | tr "\\0" x'))
  await runCommand(command)
  expect(command.lines.join('').length).toBeLessThan(1000)
})

test('cancelled, it is over when nothing of it runs any more', async () => {
  const cancel = new AbortController()
  const command = aCommand(shell('sleep 1000 & echo $! > child; echo started; wait'), { signal: cancel.signal })
  const run = runCommand(command)
  await until(() => command.lines.includes('started'))
  const child = pidIn(join(command.folder, 'child'))
  cancel.abort(new Error('cancelled'))
  await expect(run).rejects.toThrow('cancelled')
  await until(() => !isAlive(child))
})

test('what ignores the request to end is killed', async () => {
  const cancel = new AbortController()
  const clock = new VirtualClock()
  const command = aCommand(shell('trap "" TERM; echo started; while :; do sleep 0.05; done'), {
    signal: cancel.signal,
    clock,
  })
  const run = runCommand(command)
  await until(() => command.lines.includes('started'))
  cancel.abort(new Error('cancelled'))
  await Promise.all([expect(run).rejects.toThrow('cancelled'), clock.advance(10_000)])
})

test('after an hour it is ended', async () => {
  const clock = new VirtualClock()
  const command = aCommand(shell('echo started; exec sleep 1000'), { clock })
  const run = runCommand(command)
  await until(() => command.lines.includes('started'))
  await Promise.all([expect(run).rejects.toThrow('did not end within an hour'), clock.advance(60 * 60_000)])
})

test('what it leaves running behind is ended with it', async () => {
  const command = aCommand(shell('sleep 1000 >/dev/null 2>&1 & echo $! > child'))
  await runCommand(command)
  const child = pidIn(join(command.folder, 'child'))
  expect(child).toBeGreaterThan(1)
  await until(() => !isAlive(child))
})

test('what left its process group keeps nobody waiting', async () => {
  const command = aCommand(
    shell('setsid sh -c "echo \\$\\$ > daemon; exec sleep 1000" & until [ -s daemon ]; do sleep 0.01; done; exit 4'),
  )
  onTestFinished(() => void process.kill(pidIn(join(command.folder, 'daemon')), 'SIGKILL'))
  await expect(runCommand(command)).rejects.toThrow('code 4')
})

test('kill -9 of the worker ends the command and what it started', async () => {
  const folder = tempFolder()
  const script = `
    import { runCommand } from ${JSON.stringify(new URL('run-command.ts', import.meta.url).href)}
    import { systemClock } from ${JSON.stringify(new URL('../../platform/run/clock.ts', import.meta.url).href)}
    const command = ['/bin/sh', '-c', 'trap "" TERM HUP; sleep 1000 & echo $! > child; echo $$ > command; wait; sleep 1000']
    const { signal } = new AbortController()
    await runCommand({ command, folder: ${JSON.stringify(folder)}, env: process.env, clock: systemClock, signal, onLine() {} })
  `
  const worker = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' })
  const file = join(folder, 'command')
  await until(() => existsSync(file) && readFileSync(file, 'utf8').endsWith('\n'))
  const pids = [pidIn(file), pidIn(join(folder, 'child'))]
  expect(pids.every(isAlive)).toBe(true)
  worker.kill('SIGKILL')
  await until(() => !pids.some(isAlive))
})
