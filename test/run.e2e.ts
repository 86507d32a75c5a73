import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { runFlotilla, startFrontend, startUp, type Flotilla } from './support/flotilla.ts'
import { tempFolder } from './support/temp-folder.ts'
import { until } from './support/until.ts'

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const skipper = fileURLToPath(new URL('../models/skipper/skipper.gguf', import.meta.url))
const CTRL_C = '\u0003'
const CTRL_D = '\u0004'

/** The program in a terminal of 80 columns, and somebody who types. */
function aTerminal(args: readonly string[]) {
  const line = [process.execPath, main, ...args].map((word) => `'${word}'`).join(' ')
  // `exec`: Ctrl-C would end a shell that stays, and its exit code would be taken for the program's.
  const child = spawn('script', ['-qfec', `stty cols 80 rows 24; exec ${line}`, '/dev/null'], { stdio: 'pipe' })
  onTestFinished(() => void child.kill('SIGKILL'))
  let screen = ''
  child.stdout.on('data', (chunk: Buffer) => (screen += chunk.toString('utf8')))
  return {
    screen: () => screen,
    /** When the next prompt is there. */
    async type(keys: string) {
      await until(() => stripVTControlCharacters(screen).endsWith('> '))
      child.stdin.write(keys)
    },
    press: (key: string) => child.stdin.write(key),
    ended: once(child, 'exit') as Promise<[number | null]>,
  }
}

test('somebody talks to a model in a terminal: answers, who gave them, a stop in the middle, and goodbye', async () => {
  const up = await startUp()
  const model = { engine: 'sim', options: { tokens_per_s: 20 } }
  await up.admin('PUT', '/api/models/slow', model)
  const terminal = aTerminal(['run', 'slow', '--data', up.data, '--max-tokens', '400'])
  await terminal.type('hello there\r')
  await until(() => terminal.screen().includes('works end to end'))
  terminal.press(CTRL_C)
  await until(() => terminal.screen().includes('(stopped)'))
  await terminal.type('/replica\r')
  await until(() => terminal.screen().includes('slow#0 on '))
  await terminal.type(CTRL_D)
  expect((await terminal.ended)[0]).toBe(0)
  // What was stopped is no longer worked on.
  const idle = async () =>
    ((await up.admin('GET', '/api/replicas')).body as { in_flight: number }[]).every((one) => one.in_flight === 0)
  await until(idle)
})

test('one answer for a script, with exit codes that tell', async () => {
  const up = await startUp()
  const run = (...args: string[]) => runFlotilla(['run', ...args, '--data', up.data])
  const { code, stdout, stderr } = await run('sim', 'hello', '--max-tokens', '5')
  expect([code, stdout, stderr]).toEqual([
    0,
    'Flotilla works end to end\n',
    '(cut off: the answer is as long as it may be)\n',
  ])
  expect((await run('none', 'hello')).code).toBe(1)
  const { body: key } = await up.admin('POST', '/api/keys', { name: 'app' })
  const remote = ['run', 'sim', 'hello', '--max-tokens', '2', '--url', up.url, '--data', tempFolder()]
  const env = { FLOTILLA_KEY: (key as { key: string }).key }
  expect(await runFlotilla(remote, env)).toMatchObject({ code: 0, stdout: 'Flotilla works\n' })
})

const namesOf = async (cluster: Flotilla) =>
  ((await cluster.admin('GET', '/api/models')).body as { name: string }[]).map(({ name }) => name).join()

test('a folder of GGUF files is served: what is put there is a model, and what is taken away is none', async () => {
  const folder = tempFolder()
  copyFileSync(skipper, join(folder, 'first.gguf'))
  const frontend = await startFrontend({ args: ['--models-dir', folder] })
  await until(async () => (await namesOf(frontend)) === 'first')
  mkdirSync(join(folder, 'more'))
  copyFileSync(skipper, join(folder, 'more', 'second.gguf'))
  await until(async () => (await namesOf(frontend)) === 'first,second')
  rmSync(join(folder, 'first.gguf'))
  await until(async () => (await namesOf(frontend)) === 'second')
  await frontend.signal('SIGTERM')
  const without = await startFrontend({ data: frontend.data })
  await until(async () => (await namesOf(without)) === '')
  expect((await without.admin('GET', '/api/models/second')).status).toBe(404)
})

test('a folder that is not there is a mistake', async () => {
  const { code, stderr } = await runFlotilla(['up', '--data', tempFolder(), '--models-dir', '/nowhere/models'])
  expect([code, stderr]).toEqual([
    2,
    'flotilla: --models-dir: there is no folder /nowhere/models. Make it, or name another.\n',
  ])
})

test('the files of a model are fetched to a node before anybody asks', async () => {
  const folder = tempFolder()
  copyFileSync(skipper, join(folder, 'first.gguf'))
  const up = await startUp({ args: ['--models-dir', folder] })
  await until(async () => (await namesOf(up)).includes('first'))
  const { code, stdout } = await runFlotilla(['models', 'pull', 'first', '--data', up.data])
  expect([code, stdout]).toEqual([0, expect.stringMatching(/: has the files of first, 6\.1 MiB\.\n$/)])
})
