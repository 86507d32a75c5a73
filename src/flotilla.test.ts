import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { tempFolder } from '../test/support/temp-folder.ts'

const run = promisify(execFile)

/** An installed package whose main program tells what it was started with. */
function anInstallation(): { entry: string; folder: string } {
  const folder = tempFolder()
  mkdirSync(join(folder, 'src'))
  const engines = { node: '>=22.18' }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', engines }))
  copyFileSync(join(import.meta.dirname, 'flotilla.cjs'), join(folder, 'src/flotilla.cjs'))
  const told = '{ execArgv: process.execArgv, args: process.argv.slice(1), pid: process.pid }'
  writeFileSync(join(folder, 'src/main.js'), `process.stdout.write(JSON.stringify(${told}))`)
  return { entry: join(folder, 'src/flotilla.cjs'), folder }
}

/** What an entry says on a Node that calls itself so. */
async function onNode(version: string) {
  const { entry, folder } = anInstallation()
  const disguise = join(folder, 'disguise.cjs')
  const versions = `{ ...process.versions, node: '${version}' }`
  writeFileSync(disguise, `Object.defineProperty(process, 'versions', { value: ${versions} })`)
  const done = run(process.execPath, ['--require', disguise, entry, 'up'])
  return done.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  )
}

test.each(['18.20.8', '20.20.2', '22.17.1'])(
  'on Node %s it says which one it needs, before it loads anything',
  async (version) => {
    const { code, stdout, stderr } = await onNode(version)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(`Flotilla needs Node 22.18 or newer, and this is ${version}`)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  },
)

test.each(['22.18.0', '24.1.0', '26.0.0'])(
  'on Node %s it becomes the program, with its flags and arguments',
  async (version) => {
    const { code, stdout, stderr } = await onNode(version)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const { execArgv, args } = JSON.parse(stdout) as { execArgv: string[]; args: string[] }
    expect(args).toEqual([expect.stringMatching(/main\.js$/), 'up'])
    expect(execArgv.slice(0, 2)).toEqual(['--disable-warning=ExperimentalWarning', '--max-semi-space-size=1'])
  },
)

test('its process stays the same one: a supervisor that knows its id stops the program', async () => {
  const { entry } = anInstallation()
  const started = run(process.execPath, [entry, 'a b'])
  const { stdout } = await started
  expect(JSON.parse(stdout)).toMatchObject({ pid: started.child.pid, args: [expect.anything(), 'a b'] })
})
