import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { serve } from '../../../test/support/http/http.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'
import { aStart, aWorker } from '../../../test/support/worker/worker-scene.ts'
import { openConfinement, unconfined } from './confinement.ts'
import { quickly, startShell } from './testing/an-engine.ts'

const isRoot = process.getuid?.() === 0

/** What a few lines of shell say when they are started like this. */
async function said(script: string, options: Partial<Parameters<typeof openConfinement>[0]>): Promise<string[]> {
  const confinement = openConfinement({ user: undefined, limits: {}, root: '/', ...options })
  const { engine, lines } = await startShell('', { argv: confinement.argv(['sh', '-c', script]) })
  onTestFinished(() => engine.stop(quickly).then(() => {}))
  await engine.exited
  return lines.map((line) => line.replace('stdout: ', ''))
}

test('without anything asked for, a command is as it was', () => {
  expect(openConfinement({ user: undefined, limits: {}, root: '/' })).toBe(unconfined)
  expect(unconfined.argv(['a', 'b c'])).toEqual(['a', 'b c'])
})

test('limits hold for the engine, and it cannot lift them', async () => {
  const limits = { memoryBytes: 512 * 2 ** 20, files: 99, processes: 4000, nice: 7 }
  expect(await said('ulimit -d; ulimit -n; ulimit -Hn; nice', { limits })).toEqual(['524288', '99', '99', '7'])
})

test('an engine that wants more memory than its limit gets none', async () => {
  const grab =
    'const held = []; for (let i = 0; i < 40; i++) held.push(Buffer.alloc(2 ** 26)); process.stdout.write("got it")'
  const script = `exec "${process.execPath}" -e '${grab}'`
  expect(await said(script, {})).toEqual(['got it'])
  expect(await said(script, { limits: { memoryBytes: 2 ** 30 } })).not.toContain('got it')
})

test('nothing of a command is for a shell to read', () => {
  const odd = ['prog', '$(id)', '`id`', 'a b', '--', '-n', "'", '"']
  const confinement = openConfinement({ user: undefined, limits: { nice: 1, files: 99 }, root: '/' })
  expect(confinement.argv(odd)).toEqual(['nice', '-n', '1', 'prlimit', '--nofile=99', '--', ...odd])
})

test.each(['no-such-user-here', 'nobody:no-such-group', 'root'])('%s is no user for engines', (user) => {
  expect(() => openConfinement({ user, limits: {}, root: '/' })).toThrow(
    isRoot ? /engine_user: (there is no|engines as root)/ : /only a worker that runs as root/,
  )
})

test('an engine of another user reads its model, writes where it runs, and sees no secret', async () => {
  if (!isRoot) {
    expect(() => openConfinement({ user: 'nobody', limits: {}, root: '/' })).toThrow(/as root/)
    return
  }
  const folder = tempFolder()
  writeFileSync(join(folder, 'node.seed'), 'secret', { mode: 0o600 })
  mkdirSync(join(folder, 'worker'), { mode: 0o700 })
  const url = await serve((_request, response) => void response.end('weights'))
  const look =
    'id -un; cat "$1"; echo; cat "$2"; ls "$2/.."; touch here && echo wrote; grep NoNewPrivs /proc/self/status; echo up; exec sleep 1000'
  const command = JSON.stringify([
    'sh',
    '-c',
    `{ ${look}; } 2>&1`,
    'curious',
    '{{model_path}}',
    join(folder, 'node.seed'),
  ])
  const profiles = `- { name: curious, command: ${command}, options: none, ready: { log: ^up }, listens: elsewhere }\n`
  const worker = await aWorker({ folder, profiles, confine: { user: 'nobody', limits: {} } })
  const spec = aStart({ engine: 'curious', model_name: 'm', source: `${url}/m.gguf` })
  worker.supervisor.start(spec)
  await until(() => worker.stateOf(spec.id) === 'ready')
  const lines = worker.logs.lastLines('m#0', 100).join('\n')
  expect(lines).toMatch(/^nobody\nweights\n/)
  expect(lines).toContain('wrote')
  expect(lines).toMatch(/NoNewPrivs:\s+1/)
  expect(lines).not.toContain('secret')
  expect(lines.match(/Permission denied|cannot open|Not a directory/g)?.length).toBeGreaterThan(1)
  expect(statSync(join(folder, 'node.seed')).mode & 0o777).toBe(0o600)
  expect(statSync(folder).mode & 0o027).toBe(0)
})
