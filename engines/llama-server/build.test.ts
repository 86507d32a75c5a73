import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { tempFolder } from '../../test/support/temp-folder.ts'
import { buildLlamaServer } from './build.ts'
import type { Source } from './source.ts'

/** Configures by nothing but noting its flags; builds a program that knows its version. */
const CMAKE = `
case "$1" in
  -S) echo "$@" >> "$LOG"; [ -e "$2/CMakeLists.txt" ] || exit 3; /bin/mkdir -p "$4/bin";;
  --build)
    for n in 1 2 3 4; do echo "[$n/4] Building CXX object number-$n"; done
    printf '#!/bin/sh\\n[ "$1" = --version ] && echo version 1\\n' > "$2/bin/llama-server"
    /bin/chmod 755 "$2/bin/llama-server";;
esac`
const NPM = 'echo "npm $*" >> "$LOG"; /bin/cp "$TGZ" "$4/made-up.tgz"'

interface Stage {
  folder: string
  source: Source
  said: string[]
  env: NodeJS.ProcessEnv
  log(): string
  build(folder?: string): Promise<void>
  tool(name: string, script: string): void
}

/** A machine whose tools are stubs, except git and tar, and a package with a source of one file. */
function aMachine(): Stage {
  const root = tempFolder()
  const bin = join(root, 'bin')
  mkdirSync(bin)
  const tool = (name: string, script: string): void => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(bin, name), 0o755)
  }
  tool('cmake', CMAKE)
  tool('npm', NPM)
  tool('c++', 'exit 0')
  for (const name of ['git', 'tar', 'gzip']) symlinkSync(programOnThisMachine(name), join(bin, name))
  const { tgz, sha256 } = aPackage(root)
  const source = { package: 'made-up', version: '1.2.3', sha256 }
  const folder = join(root, 'engines', 'llama-server', 'made-1')
  const log = join(root, 'log')
  writeFileSync(log, '')
  const said: string[] = []
  const env: NodeJS.ProcessEnv = { PATH: bin, HOME: root, LOG: log, TGZ: tgz }
  return {
    folder,
    source,
    said,
    env,
    tool,
    log: () => readFileSync(log, 'utf8'),
    build(into = folder) {
      mkdirSync(into, { recursive: true })
      return buildLlamaServer({ folder: into, source, env, say: (line) => void said.push(line) })
    },
  }
}

function programOnThisMachine(name: string): string {
  const found = process.env['PATH']!.split(':').map((folder) => join(folder, name))
  return found.find((file) => existsSync(file))!
}

function aPackage(root: string): { tgz: string; sha256: string } {
  const repository = join(root, 'repository')
  const bundle = join(root, 'package', 'llama', 'gitRelease.bundle')
  for (const path of [repository, dirname(bundle)]) mkdirSync(path, { recursive: true })
  writeFileSync(join(repository, 'CMakeLists.txt'), 'project(made-up)\n')
  const git = (...args: string[]): unknown =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: repository, stdio: 'ignore' })
  git('init')
  git('add', '.')
  git('commit', '-m', 'all')
  git('bundle', 'create', bundle, 'HEAD')
  const tgz = join(root, 'made-up-1.2.3.tgz')
  execFileSync('tar', ['-czf', tgz, '-C', root, 'package'])
  return { tgz, sha256: createHash('sha256').update(readFileSync(bundle)).digest('hex') }
}

test('fetches the source, builds, tells how far it is, and leaves nothing but the program', async () => {
  const stage = aMachine()
  await stage.build()
  expect(execFileSync(join(stage.folder, 'llama-server'), ['--version'], { encoding: 'utf8' })).toBe('version 1\n')
  expect(readdirSync(stage.folder)).toEqual(['llama-server'])
  expect(stage.said).toEqual([
    'fetching made-up@1.2.3 with npm',
    'unpacking the source',
    'configuring',
    ...[25, 50, 75, 100].map((share) => `compiling: ${share} %`),
  ])
  expect(stage.log()).toMatch(/npm pack made-up@1\.2\.3 /)
  expect(stage.log()).toMatch(/-DLLAMA_USE_PREBUILT_UI=OFF/)
})

test('a machine of the same kind takes what was built before', async () => {
  const stage = aMachine()
  await stage.build()
  // Not even a compiler is needed then.
  for (const name of ['cmake', 'npm', 'c++']) rmSync(join(stage.folder, '../../../bin', name))
  const again = join(dirname(stage.folder), 'made-2')
  await stage.build(again)
  expect(stage.said.at(-1)).toMatch(/^taken from the cache/)
  expect(readdirSync(again)).toEqual(['llama-server'])
})

test('what is in the cache but does not run is built again', async () => {
  const stage = aMachine()
  await stage.build()
  const [kind] = readdirSync(join(stage.folder, '../../../.cache/flotilla/llama-server'))
  const cached = join(stage.folder, '../../../.cache/flotilla/llama-server', kind!, 'llama-server')
  writeFileSync(cached, 'half a program')
  const again = join(dirname(stage.folder), 'made-2')
  await stage.build(again)
  expect(stage.said.filter((line) => line === 'compiling: 100 %')).toHaveLength(2)
  expect(execFileSync(cached, ['--version'], { encoding: 'utf8' })).toBe('version 1\n')
})

test('the source of an installed engine llama is used, without npm', async () => {
  const stage = aMachine()
  rmSync(join(stage.folder, '../../../bin/npm'))
  const home = join(stage.folder, '../../llama/made-0/node_modules/made-up')
  mkdirSync(home, { recursive: true })
  execFileSync('tar', ['-xzf', join(stage.folder, '../../../made-up-1.2.3.tgz'), '--strip-components=1', '-C', home])
  await stage.build()
  expect(stage.said[0]).toBe('unpacking the source')
  expect(readdirSync(stage.folder)).toEqual(['llama-server'])
})

test('a source that is not the expected one is not built', async () => {
  const stage = aMachine()
  stage.source.sha256 = '0'.repeat(64)
  await expect(stage.build()).rejects.toThrow(/made-up@1\.2\.3 is not the one that is expected/)
  expect(stage.log()).not.toContain('CMAKE')
  expect(readdirSync(stage.folder)).toEqual([])
})

test('what is missing is named, with what to do', async () => {
  const stage = aMachine()
  const bin = join(stage.folder, '../../../bin')
  for (const name of ['cmake', 'c++']) chmodSync(join(bin, name), 0o644)
  await expect(stage.build()).rejects.toThrow(/there is no cmake, no C\+\+ compiler\. .*apt-get install.*--archive/)
  const other = aMachine()
  rmSync(join(other.folder, '../../../bin/npm'))
  await expect(other.build()).rejects.toThrow(/there is no npm\. /)
})

test('on a machine with an NVIDIA GPU and its compiler it is built for that GPU', async () => {
  const stage = aMachine()
  stage.tool('nvcc', 'exit 0')
  stage.env['FLOTILLA_GPU_VENDOR'] = 'nvidia'
  await stage.build()
  expect(stage.log()).toMatch(/-DGGML_CUDA=ON -DCMAKE_CUDA_COMPILER=\S+\/nvcc/)
})

test('a build that fails tells the last lines of the compiler, and leaves nothing', async () => {
  const stage = aMachine()
  stage.tool(
    'cmake',
    '[ "$1" = --build ] || exit 0; echo "[1/2] Building"; echo "fatal error: no such file" >&2; exit 2',
  )
  await expect(stage.build()).rejects.toThrow(/^cmake failed \(exit code 2\)\n(.*\n)?fatal error: no such file/)
  expect(readdirSync(stage.folder)).toEqual([])
})

test('npm that cannot reach its registry is told with its own words', async () => {
  const stage = aMachine()
  stage.tool('npm', 'echo "npm error network is unreachable" >&2; exit 1')
  await expect(stage.build()).rejects.toThrow(/npm failed \(exit code 1\)\nnpm error network is unreachable/)
})
