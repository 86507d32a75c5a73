import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { tempFolder } from '../../test/support/temp-folder.ts'
import { openDataFolder } from './data-folder.ts'

/** A process that opens the folder, says so, and holds it until it is killed. */
async function holdElsewhere(path: string) {
  const module = new URL('./data-folder.ts', import.meta.url).href
  const script = `const { openDataFolder } = await import(${JSON.stringify(module)})
    openDataFolder(${JSON.stringify(path)}); gc(); process.stdout.write('held'); setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--expose-gc', '--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

test('a missing folder is made, for its owner only', () => {
  const path = join(tempFolder(), 'deep', 'data')
  const folder = openDataFolder(path)
  expect(statSync(path).mode & 0o777).toBe(0o700)
  folder.dispose()
  expect(existsSync(join(path, 'owner.pid'))).toBe(false)
})

test('an empty one becomes its owner’s only; one with something in it stays as it is', () => {
  const [empty, full] = [tempFolder(), tempFolder()]
  writeFileSync(join(full, 'file'), '')
  for (const path of [empty, full]) {
    chmodSync(path, 0o755)
    openDataFolder(path).dispose()
  }
  expect([empty, full].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o755])
})

test('a folder in use is refused with the process that uses it, until that process is gone', async () => {
  const path = tempFolder()
  const holder = await holdElsewhere(path)
  expect(() => openDataFolder(path)).toThrow(`in use by another Flotilla (process ${holder.pid})`)
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  const folder = openDataFolder(path)
  expect(folder.file('x')).toBe(join(path, 'x'))
  folder.dispose()
})

test('a folder in use by this very process is refused too', () => {
  const path = tempFolder()
  const folder = openDataFolder(path)
  expect(() => openDataFolder(path)).toThrow('in use')
  folder.dispose()
})

test('a path that cannot be a folder is refused in one line that says what to do', () => {
  const file = join(tempFolder(), 'file')
  writeFileSync(file, '')
  expect(() => openDataFolder(join(file, 'data'))).toThrow(/^Cannot use the data folder .* --data/)
})
