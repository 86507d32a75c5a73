import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ProgressMessage } from '../../api/bus/messages.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { isAlive, until } from '../../../test/support/until.ts'
import { aNode, failure, finished, reportOf, says, untilAborted } from './engines-suite.ts'

const makes = (name: string, says = 'made'): string =>
  `printf '#!/bin/sh\\necho ${says}\\n' > ${name} && /bin/chmod +x ${name}`
const recipe = (script: string): string => `install: { command: [/bin/sh, -c, ${JSON.stringify(script)}] }\n`

test('a program that is there is used at once', async () => {
  const node = aNode()
  const program = node.program('vllm')
  expect(await node.open().ensure('vllm')).toBe(program)
})

test('a missing program without a recipe is an error that names it and says how to get it', async () => {
  const engines = aNode().open()
  await expect(engines.ensure('vllm')).rejects.toThrow(
    'The program "vllm" is not in PATH. Install it on the node, or: flotilla engines install vllm …',
  )
  await expect(engines.ensure('vlm')).rejects.toThrow('knows no engine "vlm". Did you mean vllm?')
})

test('a missing program with a recipe is installed once, however many ask, and all hear of its progress', async () => {
  const node = aNode()
  node.profile('mine', recipe(`echo hello; echo x >> "$FLOTILLA_ENGINE_FOLDER/runs"; ${makes('mine-server')}`))
  const engines = node.open()
  expect(reportOf(engines, 'mine')).toMatchObject({
    state: 'installable',
    reason: expect.stringContaining('mine-server'),
  })
  const heard: ProgressMessage[][] = [[], [], []]
  const programs = await Promise.all(
    heard.map((list) => engines.ensure('mine', { onProgress: (progress) => void list.push(progress) })),
  )
  expect(new Set(programs).size).toBe(1)
  expect(heard.every((list) => list.some(({ file }) => file === 'hello'))).toBe(true)
  const folder = join(programs[0]!, '..')
  expect(readFileSync(join(folder, 'runs'), 'utf8')).toBe('x\n')
  expect(says(engines, 'mine')).toBe('made')
  const { version, state, operation } = reportOf(engines, 'mine')
  expect({ state, operation }).toMatchObject({ state: 'available', operation: { kind: 'install', state: 'done' } })
  expect(Date.parse(version!)).toBeGreaterThan(0)
})

test('all who wait hear of a failure, and the next to ask tries again', async () => {
  const node = aNode()
  node.profile('mine', recipe(`echo x >> ${node.root}/runs; echo it is raining; exit 1`))
  const engines = node.open()
  const outcomes = await Promise.allSettled([engines.ensure('mine'), engines.ensure('mine'), engines.ensure('mine')])
  expect(outcomes.map((outcome) => outcome.status === 'rejected' && String(outcome.reason))).toEqual(
    Array(3).fill(
      expect.stringMatching(
        /"mine" could not be installed \(flotilla engines install mine tries it again\): [^]*it is raining/,
      ),
    ),
  )
  expect(readFileSync(join(node.root, 'runs'), 'utf8')).toBe('x\n')
  expect(reportOf(engines, 'mine')).toMatchObject({ state: 'installable', operation: failure('it is raining') })
  await expect(engines.ensure('mine')).rejects.toThrow('it is raining')
  expect(readFileSync(join(node.root, 'runs'), 'utf8')).toBe('x\nx\n')
  expect(existsSync(join(node.folder, 'mine'))).toBe(false)
})

test('the installation goes on while one still waits, and is given up when nobody does', async () => {
  const node = aNode({ fetchArchive: untilAborted })
  node.profile('mine', `install: { archive: { url: "https://example.org/a.tgz", sha256: ${'a'.repeat(64)} } }\n`)
  const engines = node.open()
  const [first, second] = [new AbortController(), new AbortController()]
  const waits = [engines.ensure('mine', { signal: first.signal }), engines.ensure('mine', { signal: second.signal })]
  await until(() => reportOf(engines, 'mine').state === 'installing')
  first.abort(new Error('no longer wanted'))
  await expect(waits[0]).rejects.toThrow('no longer wanted')
  expect(reportOf(engines, 'mine').state).toBe('installing')
  second.abort(new Error('no longer wanted'))
  await expect(waits[1]).rejects.toThrow('no longer wanted')
  expect((await finished(engines, 'mine')).operation).toMatchObject(failure('cancelled'))
})

test('who asks while an upgrade runs gets the new version', async () => {
  const node = aNode()
  const engines = node.open()
  engines.install({ command_id: '1', engine: 'vllm', archive: node.archive('a.tgz', 'one') })
  engines.upgrade({ command_id: '2', engine: 'vllm', archive: node.archive('b.tgz', 'two') })
  const program = await engines.ensure('vllm')
  expect(readFileSync(program, 'utf8')).toContain('two')
})

test('a command installs into its own folder, or into PATH, and knows nothing of Flotilla’s settings', async () => {
  const node = aNode()
  const engines = node.open()
  const command = ['/bin/sh', '-c', `/usr/bin/env > env; pwd > pwd; ${makes(join(node.bin, 'vllm'))}`]
  engines.install({ command_id: '1', engine: 'vllm', command })
  expect(await finished(engines, 'vllm')).toMatchObject({ state: 'available', operation: { state: 'done' } })
  expect(engines.program(engines.find('vllm')!)).toBe(join(node.bin, 'vllm'))
  const version = readdirSync(join(node.folder, 'vllm')).find((name) => name.startsWith('made-'))
  const folder = join(node.folder, 'vllm', version!)
  expect(readFileSync(join(folder, 'pwd'), 'utf8').trim()).toBe(folder)
  const env = readFileSync(join(folder, 'env'), 'utf8')
  expect(env).toContain(`FLOTILLA_ENGINE_FOLDER=${folder}\n`)
  expect(env).not.toContain('secret')
  engines.install({ command_id: '2', engine: 'vllm', command })
  expect((await finished(engines, 'vllm')).operation).toMatchObject({ id: '2', state: 'done' })
})

test('a command that makes no program is a failure and leaves nothing', async () => {
  const node = aNode()
  const engines = node.open()
  engines.install({ command_id: '1', engine: 'vllm', command: ['/bin/sh', '-c', 'echo > something-else'] })
  expect((await finished(engines, 'vllm')).operation).toMatchObject(failure('the program "vllm" is not there'))
  expect(existsSync(join(node.folder, 'vllm'))).toBe(false)
})

test('an upgrade by a command stops the replicas before it runs', async () => {
  const node = aNode()
  const engines = node.open()
  engines.install({ command_id: '1', engine: 'vllm', archive: node.archive('a.tgz', 'one') })
  await finished(engines, 'vllm')
  node.replicas = { stopped: [], survivors: ['m#0'] }
  engines.upgrade({ command_id: '2', engine: 'vllm', command: ['/bin/sh', '-c', `echo > ${node.root}/has-run`] })
  expect((await finished(engines, 'vllm')).operation).toMatchObject(failure('still run: m#0'))
  expect(existsSync(join(node.root, 'has-run'))).toBe(false)
  node.replicas = { stopped: ['m#0'], survivors: [] }
  engines.upgrade({ command_id: '3', engine: 'vllm', command: ['/bin/sh', '-c', makes('vllm', 'two')] })
  expect((await finished(engines, 'vllm')).operation).toMatchObject({ state: 'done', stopped: ['m#0'] })
  expect(says(engines, 'vllm')).toBe('two')
})

test('kill -9 in the middle of an upgrade: the old version works, nothing runs, and the rest is swept up', async () => {
  const node = aNode()
  const before = node.open()
  const archive = node.archive('a.tgz', 'one')
  before.install({ command_id: '1', engine: 'vllm', archive })
  await finished(before, 'vllm')
  await before.dispose()
  writeFileSync(join(node.folder, 'vllm', 'notes.txt'), 'mine')

  const script = `
    import { Engines } from ${JSON.stringify(new URL('engines.ts', import.meta.url).href)}
    import { systemClock } from ${JSON.stringify(new URL('../../platform/run/clock.ts', import.meta.url).href)}
    import { silentLogger } from ${JSON.stringify(new URL('../../platform/run/log.ts', import.meta.url).href)}
    const engines = Engines.open({
      ...${JSON.stringify({ folder: node.folder, profilesFolder: node.profilesFolder })},
      stopReplicas: async () => ({ stopped: [], survivors: [] }), fetchArchive: async () => {},
      clock: systemClock, log: silentLogger, onChange() {}, env: process.env,
    })
    const command = ['/bin/sh', '-c', 'echo half > vllm; echo $$ > ${node.root}/pid; sleep 1000']
    engines.upgrade({ command_id: '2', engine: 'vllm', command })
  `
  const worker = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit', cwd: tempFolder() })
  const pidFile = join(node.root, 'pid')
  await until(() => existsSync(pidFile) && readFileSync(pidFile, 'utf8').endsWith('\n'))
  expect(readdirSync(join(node.folder, 'vllm'))).toHaveLength(4)
  worker.kill('SIGKILL')
  await until(() => !isAlive(Number(readFileSync(pidFile, 'utf8'))))

  const after = node.open()
  expect(says(after, 'vllm')).toBe('one')
  expect(readdirSync(join(node.folder, 'vllm')).toSorted()).toEqual(
    [archive.sha256, 'current.json', 'notes.txt'].toSorted(),
  )
})

test('what is left of a first installation goes, what somebody else put there stays', async () => {
  const node = aNode()
  const engines = node.open()
  engines.install({ command_id: '1', engine: 'vllm', archive: node.archive('a.tgz', 'one') })
  await finished(engines, 'vllm')
  writeFileSync(join(node.folder, 'vllm', 'current.json'), '{ half a')
  writeFileSync(join(node.folder, 'notes.txt'), 'mine')
  const again = node.open()
  expect(reportOf(again, 'vllm')).toMatchObject({ state: 'missing', version: null })
  expect(readdirSync(node.folder)).toEqual(['notes.txt', 'vllm'])
  expect(readdirSync(join(node.folder, 'vllm'))).toEqual(['current.json'])
})

test('a command that installs is told whose GPUs the machine has', async () => {
  const node = aNode({ gpuVendor: () => 'amd' })
  const make = 'echo "#!/bin/sh\\n# $FLOTILLA_GPU_VENDOR" > mine-server; chmod +x mine-server'
  node.profile('mine', `install: { command: [/bin/sh, -c, '${make}'] }\n`)
  node.program('chmod', '#!/bin/sh\nexec /bin/chmod "$@"\n')
  const program = await node.open().ensure('mine')
  expect(readFileSync(program, 'utf8')).toContain('# amd')
})
