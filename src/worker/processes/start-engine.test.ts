import { chmodSync, existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../platform/run/clock.ts'
import { until } from '../../../test/support/until.ts'
import { readIdentity } from './identity-file.ts'
import { MOST_LINE_CHARS } from './line-cutter.ts'
import { isRunning, type ProcessIdentity } from './process-identity.ts'
import { lookAt } from './process-look.ts'
import { startEngine } from './start-engine.ts'
import { quickly, startShell } from './testing/an-engine.ts'
import { enginesFolder, expectNothingLeft } from './testing/left-over.ts'

test('an engine has a group and a session of its own, and an empty stdin', async () => {
  const { engine, folder, lines } = await startShell('cat; echo out; echo err >&2; exec sleep 60')
  await until(() => lines.length === 2)
  expect(lines.toSorted()).toEqual(['stderr: err', 'stdout: out'])
  const { pid } = engine.identity
  expect(lookAt(pid)).toMatchObject({ group: pid, session: pid })
  expect(isRunning(engine.identity)).toBe(true)
  await engine.stop(quickly)
  await expectNothingLeft(folder)
})

test('how it ended is told after its last lines, also one that has no end', async () => {
  const { engine, folder } = await startShell(
    'i=0; while [ $i -lt 30 ]; do i=$((i+1)); echo $i; done; printf last; exit 3',
  )
  const exit = await engine.exited
  expect(exit).toMatchObject({ code: 3, signal: null })
  expect(exit.lastLines).toHaveLength(20)
  expect(exit.lastLines.slice(-2)).toEqual(['30', 'last'])
  await expectNothingLeft(folder)
})

test('an engine that is killed says by what', async () => {
  const { engine } = await startShell('exec sleep 60')
  process.kill(engine.identity.pid, 'SIGKILL')
  expect(await engine.exited).toMatchObject({ code: null, signal: 'SIGKILL' })
})

test('arguments, environment and folder reach the engine as they are', async () => {
  const folder = enginesFolder()
  const lines: string[] = []
  const odd = ['', ' a  b ', '$HOME', '`id`', "it's", '"', '*', '\\n', 'ü😀', '-e', 'x\ny']
  const script = 'process.stdout.write(JSON.stringify([process.argv.slice(1), process.env.ODD, process.cwd()]))'
  const engine = await startEngine(
    {
      argv: [process.execPath, '-e', script, '--', ...odd],
      env: { ODD: "$(id) 'x'" },
      cwd: folder,
      folder: join(folder, 'x'),
    },
    { clock: systemClock, onLine: (_, line) => lines.push(line) },
  )
  expect(await engine.exited).toMatchObject({ code: 0 })
  expect(JSON.parse(lines.join(''))).toEqual([odd, "$(id) 'x'", folder])
})

test('its identity is written down before it runs', async () => {
  const folder = enginesFolder()
  const trace = join(folder, 'it-ran')
  let written: ProcessIdentity | undefined
  const onSpawned = async (identity: ProcessIdentity): Promise<void> => {
    written = readIdentity(join(folder, 'one'))
    expect(written).toEqual(identity)
    // Long enough for a shell that did not wait.
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(existsSync(trace)).toBe(false)
  }
  const { engine } = await startShell(`touch ${trace}; exec sleep 60`, { folder, onSpawned })
  await until(() => existsSync(trace))
  expect(engine.identity).toEqual(written)
  expect(isRunning(engine.identity)).toBe(true)
  await engine.stop(quickly)
  expect(readIdentity(join(folder, 'one'))).toBeUndefined()
})

test('an engine that cannot be written down is not started', async () => {
  const folder = enginesFolder()
  const trace = join(folder, 'it-ran')
  const onSpawned = (): never => {
    throw new Error('disk full')
  }
  await expect(startShell(`touch ${trace}`, { folder, onSpawned })).rejects.toThrow('disk full')
  await expectNothingLeft(folder)
  expect(existsSync(trace)).toBe(false)
  expect(readIdentity(join(folder, 'one'))).toBeUndefined()
})

test.for([
  {
    what: 'that is not there',
    program: 'no-such-program',
    code: 127,
    says: /^Cannot run the program "no-such-program": .*not found/,
  },
  {
    what: 'that may not be run',
    program: './plain',
    code: 126,
    says: /^Cannot run the program ".\/plain": Permission denied/,
  },
])('a program $what is an exit that says so plainly', async ({ program, code, says }) => {
  const cwd = enginesFolder()
  writeFileSync(join(cwd, 'plain'), 'echo no')
  chmodSync(join(cwd, 'plain'), 0o644)
  const { engine } = await startShell('', { argv: [program], cwd })
  const exit = await engine.exited
  expect(exit.code).toBe(code)
  expect(exit.lastLines).toEqual([expect.stringMatching(says)])
})

test('a command that is none is refused before anything is started', async () => {
  await expect(startShell('', { argv: [] })).rejects.toThrow('"" is no program')
  await expect(startShell('', { argv: ['-x'] })).rejects.toThrow('"-x" is no program')
  await expect(startShell('', { cwd: '/no/such/folder' })).rejects.toThrow('there is no folder /no/such/folder')
  const folder = enginesFolder()
  await expect(startShell('', { folder, argv: ['sh', 'x'.repeat(3_000_000)] })).rejects.toThrow(
    'Cannot start sh: spawn E2BIG',
  )
  await expectNothingLeft(folder)
})

test('pipes that cannot be made say where and why', async () => {
  const folder = enginesFolder()
  await expect(startShell('', { folder, name: 'x'.repeat(300) })).rejects.toThrow(/ENAMETOOLONG|Cannot make the pipes/)
})

test('the pipes are for nobody else', async () => {
  const { engine, folder } = await startShell('exec sleep 60')
  for (const stream of ['stdout', 'stderr']) expect(statSync(join(folder, 'one', stream)).mode & 0o777).toBe(0o600)
  await engine.stop(quickly)
})

test('a flood of lines arrives whole, line for line', async () => {
  const { engine, lines } = await startShell('seq 1 200000; seq 1 1000 >&2')
  await engine.exited
  const of = (stream: string): string[] =>
    lines.filter((line) => line.startsWith(stream)).map((line) => line.split(': ')[1]!)
  expect(of('stdout')).toEqual(Array.from({ length: 200_000 }, (_, i) => String(i + 1)))
  expect(of('stderr')).toHaveLength(1000)
})

test('a flood without a line end is cut', async () => {
  const { engine, lines } = await startShell(`head -c 50000000 /dev/zero | tr '\\0' x; echo; printf '\\377\\n'`)
  await engine.exited
  expect(lines).toEqual([`stdout: ${'x'.repeat(MOST_LINE_CHARS)}`, 'stdout: \uFFFD'])
})

test('a folder can be used again', async () => {
  const folder = enginesFolder()
  const first = await startShell('echo one', { folder })
  await first.engine.exited
  const second = await startShell('echo two', { folder })
  await second.engine.exited
  expect(second.lines).toEqual(['stdout: two'])
})
