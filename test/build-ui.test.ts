import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { tempFolder } from './support/temp-folder.ts'

const repository = fileURLToPath(new URL('..', import.meta.url))

/** A repository with a very small dashboard, our scripts and our dependencies. */
function aRepository() {
  const root = fs.realpathSync(tempFolder())
  const write = (name: string, text: string): void => {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
    fs.writeFileSync(path.join(root, name), text)
  }
  fs.cpSync(path.join(repository, 'scripts'), path.join(root, 'scripts'), { recursive: true })
  fs.symlinkSync(path.join(repository, 'node_modules'), path.join(root, 'node_modules'))
  write('package.json', '{ "type": "module" }')
  write('package-lock.json', '{}')
  write('src/api/limit.ts', 'export const limit: number = 40')
  write('src/api/unrelated.ts', 'export const other = 1')
  write('ui/vite.config.ts', 'export default { root: import.meta.dirname }')
  write('ui/index.html', '<!doctype html><title>t</title><script type="module" src="/src/main.ts"></script>')
  write('ui/public/icon.svg', '<svg/>')
  write(
    'ui/src/main.ts',
    `import { limit } from '../../src/api/limit.ts'\ndocument.title = '${'long '.repeat(300)}' + limit`,
  )
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [path.join(root, 'scripts/build-ui.ts'), ...args], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], NODE_ENV: 'development' },
    })
    return { status, stdout, stderr }
  }
  const list = (folder = 'ui/dist') => fs.readdirSync(path.join(root, folder), { recursive: true }) as string[]
  return { root, write, run, list }
}

test('the dashboard is built with packed files beside it, and again only when what it is made of has changed', () => {
  const { root, write, run, list } = aRepository()
  expect(run()).toMatchObject({ status: 0, stdout: expect.stringContaining('✓ dashboard in ui/dist') })
  const script = list().find((name) => name.endsWith('.js'))!
  expect(script).toMatch(/^assets\/index-[\w-]+\.js$/)
  expect(list()).toEqual(
    expect.arrayContaining(['index.html', 'icon.svg', '.built', script, `${script}.br`, `${script}.gz`]),
  )
  const bytes = fs.readFileSync(path.join(root, 'ui/dist', script))
  expect(brotliDecompressSync(fs.readFileSync(path.join(root, 'ui/dist', `${script}.br`)))).toEqual(bytes)

  write('src/api/unrelated.ts', 'export const other = 2')
  write('ui/src/main.test.ts', 'not looked at')
  expect(run('--if-stale').stdout).toBe('✓ the dashboard is built already\n')
  write('src/api/limit.ts', 'export const limit: number = 41')
  expect(run('--if-stale').stdout).toContain('✓ dashboard in ui/dist')
  expect(list().filter((name) => name.endsWith('.js'))).not.toEqual([script])
  expect(list().filter((name) => name.endsWith('.js'))).toHaveLength(1)
})

test('a build that fails says why and leaves the one from before', () => {
  const { write, run, list } = aRepository()
  run()
  const before = list()
  write('ui/src/main.ts', "import './gone.ts'")
  const failed = run('--if-stale')
  expect(failed.status).toBe(1)
  expect(failed.stderr).toContain("Could not resolve './gone.ts'")
  expect(list().filter((name) => !name.startsWith('.next'))).toEqual(before)
  expect(run('--if-stale').status).toBe(1)
})
