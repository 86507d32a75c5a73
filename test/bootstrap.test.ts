import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'

const scripts = fileURLToPath(new URL('../scripts', import.meta.url))
const folders: string[] = []

afterEach(() => {
  for (const folder of folders.splice(0)) fs.rmSync(folder, { recursive: true, force: true })
})

test('the first run installs, the next one does not', async () => {
  const root = aRepository()
  const first = await bootstrap(root, ['say.ts'])
  expect(first).toMatchObject({ code: 0, stdout: 'said []\n' })
  expect(first.stderr).toMatch(
    /^Installing Flotilla's dependencies \(first run, about 350 MB\)\.\.\.\nInstalled in \d+ s\.\n$/,
  )
  expect(await bootstrap(root, ['say.ts'])).toEqual({ code: 0, signal: null, stdout: 'said []\n', stderr: '' })
})

test('a changed lock file installs again', async () => {
  const root = aRepository()
  await bootstrap(root, ['say.ts'])
  writeLock(root, '2.0.0')
  expect((await bootstrap(root, ['say.ts'])).stderr).toContain('package-lock.json has changed')
  expect((await bootstrap(root, ['say.ts'])).stderr).toBe('')
})

test('an interrupted installation, which left no stamp, is done again', async () => {
  const root = aRepository()
  fs.mkdirSync(path.join(root, 'node_modules/half'), { recursive: true })
  expect((await bootstrap(root, ['say.ts'])).stderr).toContain('Installed in')
  expect(fs.existsSync(path.join(root, 'node_modules/half'))).toBe(false)
})

test('what npm installed by hand from the same lock file is taken as it is', async () => {
  const root = aRepository()
  const packages = { 'node_modules/thing': { version: '1.0.0', integrity: 'sha512-x' } }
  const other = { 'node_modules/for-another-system': { version: '1.0.0', optional: true } }
  fs.mkdirSync(path.join(root, 'node_modules/thing'), { recursive: true })
  writeLock(root, '1.0.0', { ...packages, ...other })
  fs.writeFileSync(path.join(root, 'node_modules/.package-lock.json'), JSON.stringify({ packages }))
  expect(await bootstrap(root, ['say.ts'])).toMatchObject({ code: 0, stderr: '' })
})

test('arguments and the exit code pass through unchanged', async () => {
  const root = aRepository()
  await bootstrap(root, ['say.ts'])
  const run = await bootstrap(root, ['say.ts', '--exit', '7', 'two words', '--help'])
  expect(run).toMatchObject({ code: 7, stdout: 'said ["--exit","7","two words","--help"]\n' })
})

test('another Node that came with the dependencies runs the script, and its end is ours', async () => {
  const root = aRepository()
  await bootstrap(root, ['say.ts'])
  const bin = path.join(root, 'node_modules/node/bin')
  fs.mkdirSync(bin, { recursive: true })
  fs.writeFileSync(path.join(root, 'node_modules/node/package.json'), '{ "version": "0.0.1" }')
  fs.symlinkSync(process.execPath, path.join(bin, 'node'))
  expect(await bootstrap(root, ['say.ts', '--exit', '7'])).toMatchObject({ code: 7, stdout: 'said ["--exit","7"]\n' })

  const stopped = await bootstrap(root, ['say.ts', '--wait'], { onOutput: (child) => child.kill('SIGTERM') })
  expect(stopped).toMatchObject({ code: null, signal: 'SIGTERM' })
})

test('a failed installation shows what npm said and one line on what to do', async () => {
  const root = aRepository()
  fs.writeFileSync(path.join(root, 'package-lock.json'), '{ "lockfileVersion": 3, "packages": [] ')
  const { code, stdout, stderr } = await bootstrap(root, ['say.ts'])
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/npm error/)
  expect(stderr.trimEnd().split('\n').at(-1)).toMatch(
    /^npm ci failed \(exit code 1\) after \d+ s: .*run the same command again\.$/,
  )
})

test('without npm there is one clear line', async () => {
  const run = await bootstrap(aRepository(), ['say.ts'], { env: { PATH: os.tmpdir() } })
  expect(run.code).toBe(1)
  expect(run.stderr.trimEnd().split('\n').slice(1)).toEqual([expect.stringContaining('npm was not found')])
})

test('a Node that is too old gets one clear line', async () => {
  const run = await bootstrap(aRepository(), ['say.ts'], { nodeVersion: '16.20.2' })
  expect(run).toMatchObject({ code: 2, stdout: '' })
  expect(run.stderr).toMatch(/^Flotilla needs Node 18 or newer to start.*\n$/)
})

test('a Node that cannot run TypeScript and no other one to use: one clear line', async () => {
  const root = aRepository()
  await bootstrap(root, ['say.ts'])
  const run = await bootstrap(root, ['say.ts'], { nodeVersion: '20.1.0' })
  expect(run).toMatchObject({ code: 1, stdout: '' })
  expect(run.stderr).toMatch(/^Flotilla needs Node 22\.18.*npm rebuild node.*\n$/)
})

test('a lock left by a process that died is taken over', async () => {
  const root = aRepository()
  writeInstallLock(root, spawnSync('true').pid)
  const run = await bootstrap(root, ['say.ts'])
  expect(run.code).toBe(0)
  expect(run.stderr).not.toContain('waiting')
  expect(fs.existsSync(path.join(root, '.git/flotilla-install.lock'))).toBe(false)
})

test('two at once: one installs while the other waits and says so', async () => {
  const root = aRepository()
  writeInstallLock(root, process.pid)
  let waiting = 0
  // The first thing that each prints is that it waits; then both may go for the lock.
  const onOutput = (): void => {
    if (++waiting === 2) fs.rmSync(path.join(root, '.git/flotilla-install.lock'))
  }
  const runs = await Promise.all([bootstrap(root, ['say.ts'], { onOutput }), bootstrap(root, ['say.ts'], { onOutput })])
  expect(runs.map((run) => run.code)).toEqual([0, 0])
  const stderr = runs.map((run) => run.stderr).join('')
  expect(stderr.match(/waiting for it\.\.\./g)).toHaveLength(2)
  expect(stderr.match(/Installed in/g)).toHaveLength(1)
})

test('the dashboard is built before a frontend starts, and only then', async () => {
  const root = aRepository()
  writeDashboard(root, `fs.writeFileSync('ui/dist/index.html', ''); writeStamp(process.cwd(), [])`)
  const other = await bootstrap(root, ['src/main.ts', 'status'])
  expect(other.stderr).not.toContain('dashboard')
  expect(fs.existsSync(path.join(root, 'ui/dist/index.html'))).toBe(false)
  const first = await bootstrap(root, ['src/main.ts', 'up'])
  expect(first).toMatchObject({ code: 0, stdout: 'said ["up"]\n' })
  expect(first.stderr).toMatch(/^Building the dashboard \(first run\)\.\.\.\nBuilt in \d+ s\.\n$/)
  expect((await bootstrap(root, ['src/main.ts', 'frontend'])).stderr).toBe('')
  fs.writeFileSync(path.join(root, 'ui/page.tsx'), 'changed')
  expect((await bootstrap(root, ['src/main.ts', 'up', '--help'])).stderr).toBe('')
  expect((await bootstrap(root, ['src/main.ts', 'frontend'])).stderr).toContain('(its sources have changed)')
})

test('a dashboard that cannot be built keeps nothing from starting', async () => {
  const root = aRepository()
  writeDashboard(root, `console.error('page.tsx is broken'); process.exitCode = 1`)
  const { code, stdout, stderr } = await bootstrap(root, ['src/main.ts', 'up'])
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'said ["up"]\n' })
  expect(stderr).toContain('page.tsx is broken\nThe dashboard was not built (exit code 1). Going on without it; ')
})

/** A dashboard of one file, and a script that builds it so. */
function writeDashboard(root: string, build: string): void {
  const imports = "import fs from 'node:fs'\nimport { writeStamp } from './lib/dashboard-stamp.js'\n"
  fs.mkdirSync(path.join(root, 'ui/dist'), { recursive: true })
  fs.mkdirSync(path.join(root, 'src'))
  fs.writeFileSync(path.join(root, 'ui/page.tsx'), '')
  fs.writeFileSync(path.join(root, 'scripts/build-ui.ts'), imports + build)
  fs.copyFileSync(path.join(root, 'say.ts'), path.join(root, 'src/main.ts'))
}

/** A repository with our bootstrap, no dependencies, and a script that says its arguments. */
function aRepository(): string {
  const root = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'flotilla-bootstrap-'))
  folders.push(root)
  fs.cpSync(scripts, path.join(root, 'scripts'), { recursive: true, filter: (file) => !file.endsWith('.ts') })
  fs.mkdirSync(path.join(root, '.git'))
  fs.writeFileSync(path.join(root, '.git/HEAD'), '')
  writeLock(root, '1.0.0')
  fs.writeFileSync(
    path.join(root, 'say.ts'),
    `const args: string[] = process.argv.slice(2)
console.log('said ' + JSON.stringify(args))
if (args[0] === '--exit') process.exitCode = Number(args[1])
if (args[0] === '--wait') setInterval(() => {}, 1000)
`,
  )
  return root
}

function writeLock(root: string, version: string, packages: object = {}): void {
  const itself = { name: 'tiny', version }
  const lock = { ...itself, lockfileVersion: 3, requires: true, packages: { '': itself, ...packages } }
  fs.writeFileSync(path.join(root, 'package.json'), JSON.stringify({ ...itself, type: 'module' }))
  fs.writeFileSync(path.join(root, 'package-lock.json'), JSON.stringify(lock))
}

function writeInstallLock(root: string, pid: number): void {
  const text = JSON.stringify({ host: os.hostname(), pids: [pid] })
  fs.writeFileSync(path.join(root, '.git/flotilla-install.lock'), text)
}

interface Run {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

interface RunOptions {
  env?: Record<string, string>
  /** What the running Node says it is. */
  nodeVersion?: string
  /** Called whenever something is printed. */
  onOutput?: (child: ReturnType<typeof spawn>) => void
}

function bootstrap(root: string, args: string[], { env, nodeVersion, onOutput }: RunOptions = {}): Promise<Run> {
  const claim = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${nodeVersion}' } })`
  const flags = nodeVersion ? ['--import', `data:text/javascript,${claim}`] : []
  // As from a shell: without what npm and vitest put into the environment of this test.
  const inherited = Object.entries(process.env).filter(([name]) => !/^(npm_|node_|vitest|forced?_color)/i.test(name))
  const child = spawn(process.execPath, [...flags, path.join(root, 'scripts/bootstrap.js'), ...args], {
    env: { ...Object.fromEntries(inherited), npm_config_offline: 'true', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const run: Run = { code: null, signal: null, stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      run[name] += text
      onOutput?.(child)
    })
  }
  return new Promise((resolve) => child.on('close', (code, signal) => resolve({ ...run, code, signal })))
}
