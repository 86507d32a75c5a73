import { spawn, type ChildProcess } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { tempFolder } from './support/temp-folder.ts'
import { until } from './support/until.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** A copy of the scripts around a program that takes a moment to stop, and says in files how it fares. */
function aRepository(): string {
  const folder = tempFolder()
  cpSync(join(root, 'scripts'), join(folder, 'scripts'), { recursive: true, filter: (file) => !file.endsWith('.ts') })
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { start: string } }
  const start = scripts.start.replace('src/main.ts up', 'run.ts')
  const itself = { name: 'tiny', version: '1.0.0' }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...itself, type: 'module', scripts: { start } }))
  const lock = { ...itself, lockfileVersion: 3, requires: true, packages: { '': itself } }
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock))
  mkdirSync(join(folder, 'node_modules'))
  writeFileSync(join(folder, 'node_modules/.package-lock.json'), JSON.stringify({ packages: {} }))
  writeFileSync(
    join(folder, 'run.ts'),
    `import { writeFileSync } from 'node:fs'
import { untilSignal } from ${JSON.stringify(join(root, 'src/platform/run/signals.ts'))}
const alive = setInterval(() => {}, 1000)
const signal = untilSignal()
writeFileSync('pid.tmp', String(process.pid))
const { renameSync } = await import('node:fs')
renameSync('pid.tmp', 'pid')
await signal
await new Promise((resolve) => setTimeout(resolve, 600))
writeFileSync('stopped', await signal)
clearInterval(alive)
`,
  )
  return folder
}

async function npmStart(): Promise<{ npm: ChildProcess; folder: string; ended: Promise<number | null> }> {
  const folder = aRepository()
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|vitest)/i.test(name)))
  // A process group of its own, as a shell gives it.
  const npm = spawn('npm', ['start'], { cwd: folder, env, stdio: 'ignore', detached: true })
  onTestFinished(() => {
    try {
      process.kill(-npm.pid!, 'SIGKILL')
    } catch {
      // It has ended.
    }
  })
  const ended = new Promise<number | null>((resolve) => npm.on('close', resolve))
  await until(() => existsSync(join(folder, 'pid')))
  return { npm, folder, ended }
}

const stoppedBy = (folder: string) => readFileSync(join(folder, 'stopped'), 'utf8')

test('SIGTERM to npm alone stops the program in order, and npm waits for it', async () => {
  const { npm, folder, ended } = await npmStart()
  npm.kill('SIGTERM')
  await ended
  expect(stoppedBy(folder)).toBe('SIGTERM')
})

test('when npm is killed the program stops in order', async () => {
  const { npm, folder } = await npmStart()
  npm.kill('SIGKILL')
  await until(() => existsSync(join(folder, 'stopped')))
  expect(stoppedBy(folder)).toBe('SIGTERM')
})

test('Ctrl-C reaches npm and the program, and npm passes it on: that is one press, which hurries nothing', async () => {
  const { npm, folder, ended } = await npmStart()
  process.kill(-npm.pid!, 'SIGINT')
  await ended
  await until(() => existsSync(join(folder, 'stopped')))
  expect(stoppedBy(folder)).toBe('SIGINT')
})
