import { lookAtProblems } from './cluster-checks.ts'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ADMIN_KEY, aCluster, aNodeView, flotilla, type Answers } from '../../../test/support/cli/cli.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { lookAtCertificate } from './certificate.ts'
import type { Finding } from './finding.ts'
import { lookAtFolder, lookAtGpus, lookAtPort, lookAtProgram } from './machine.ts'

interface Report {
  ok: boolean
  findings: Finding[]
}

/** What it finds, of a cluster that answers so; nothing of it is the machine's own. */
async function examined(answers: Answers, ...args: string[]): Promise<Report & { code: number }> {
  const { url } = await aCluster({
    'GET /readyz': { status: 'ready', checks: { gateway: 'ok' } },
    'GET /api/nodes': [],
    'GET /api/cluster': { at: 1, nodes: [], models: [], rules: [], problems: [], frozen: [] },
    ...answers,
  })
  const said = await flotilla(['doctor', '--json', '--data', tempFolder(), '--url', url, ...args], {
    env: { FLOTILLA_KEY: ADMIN_KEY },
  })
  return { ...(JSON.parse(said.stdout) as Report), code: said.code }
}

async function aListener(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

const find = ({ findings }: Report, what: string) => findings.find((one) => one.what === what)

test('without a cluster it looks at the machine and says how to start one', async () => {
  const { code, stdout } = await flotilla(['doctor', '--data', join(tempFolder(), 'new'), '--listen', '127.0.0.1:0'])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^ok {4}program +Flotilla \d/m)
  expect(stdout).toMatch(/^note {2}frontend +none runs here\n +→ Start one with flotilla up/m)
  for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
})

test('a cluster is asked how store, bus and nodes are, and each port is tried', async () => {
  const port = await aListener()
  const nowMs = Date.now()
  const nodes = [
    aNodeView({ id: 'a', name: 'near', address: `127.0.0.1:${port}`, last_heartbeat: nowMs }),
    aNodeView({ id: 'b', name: 'shut', address: '127.0.0.1:1', last_heartbeat: nowMs }),
    aNodeView({ id: 'c', name: 'gone', last_heartbeat: nowMs - 5_400_000 }),
    aNodeView({ id: 'd', name: 'new', approved: false }),
  ]
  const report = await examined({
    'GET /readyz': { status: 'ready', checks: {}, notes: { control: 'the store is away' } },
    'GET /api/nodes': nodes,
  })
  expect([report.code, report.ok]).toEqual([1, false])
  expect(find(report, 'control')).toMatchObject({ state: 'broken', text: 'the store is away' })
  expect(find(report, 'bus')?.state).toBe('ok')
  expect(find(report, 'clock')?.state).toBe('ok')
  expect(find(report, 'node near')).toMatchObject({ state: 'ok' })
  expect(find(report, 'node shut')?.text).toContain('127.0.0.1:1 cannot be reached: nothing listens there')
  expect(find(report, 'node gone')).toMatchObject({ state: 'broken', text: 'silent for 1h' })
  expect(find(report, 'node new')?.fix).toBe('flotilla nodes approve new')
})

test('a wrong key and a frontend that is away are told, with what to do', async () => {
  const wrong = await examined({ 'GET /api/nodes': () => undefined }, '--key', 'fla_other')
  expect([wrong.code, find(wrong, 'admin key')?.state]).toEqual([1, 'broken'])
  const away = await flotilla(['doctor', '--json', '--url', 'http://127.0.0.1:1', '--key', 'x', '--data', tempFolder()])
  const report = JSON.parse(away.stdout) as Report
  expect([away.code, find(report, 'frontend')?.text]).toEqual([
    1,
    'Cannot reach the frontend at http://127.0.0.1:1: nothing listens there.',
  ])
})

test('what is configured is tried by its address, and no secret of it is said', async () => {
  const port = await aListener()
  const database = `postgres://me:planted@127.0.0.1:${port}/flotilla`
  const report = await examined({}, '--database-url', database, '--nats-url', 'nats://me:planted@127.0.0.1:1')
  expect(find(report, 'database')).toEqual({ what: 'database', state: 'ok', text: `127.0.0.1:${port} answers` })
  expect(find(report, 'nats server')).toMatchObject({ state: 'broken' })
  expect(JSON.stringify(report)).not.toContain('planted')
})

test('an old Node.js, a port in use and a folder that others may read are found', async () => {
  expect(lookAtProgram('20.1.0').state).toBe('broken')
  const port = await aListener()
  const taken = await lookAtPort('port for the API', '--listen', { host: '127.0.0.1', port })
  expect(taken).toMatchObject({ state: 'note', text: `127.0.0.1:${port} is used by another program` })
  const folder = join(tempFolder(), 'data')
  mkdirSync(folder)
  writeFileSync(join(folder, 'admin.key'), 'x')
  chmodSync(folder, 0o755)
  expect(lookAtFolder(folder)).toMatchObject({ state: 'note', fix: `chmod 700 ${folder}` })
  chmodSync(folder, 0o700)
  expect(lookAtFolder(folder).state).toBe('ok')
  expect(lookAtFolder(join(folder, 'a', 'b')).state).toBe('ok')
})

test('GPUs need their tool, and one that fails is told', async () => {
  const tools = (answer: Awaited<ReturnType<NonNullable<Parameters<typeof lookAtGpus>[1]>>>) => async (name: string) =>
    name === 'nvidia-smi' ? answer : { isThere: false, lines: 0 }
  const has = (path: string): boolean => path === '/proc/driver/nvidia'
  const none = { isThere: false, lines: 0 }
  expect(await lookAtGpus(() => false, tools(none))).toMatchObject([{ state: 'ok' }])
  expect(await lookAtGpus(has, tools(none))).toMatchObject([{ state: 'broken', fix: 'Install the NVIDIA driver.' }])
  const failing = { isThere: true, problem: 'Driver/library version mismatch', lines: 1 }
  expect(await lookAtGpus(has, tools(failing))).toMatchObject([{ state: 'broken' }])
  expect(await lookAtGpus(has, tools({ isThere: true, lines: 2 }))).toMatchObject([{ state: 'ok' }])
})

test('where there is no TLS that is said, and a port without a certificate is not taken for one', async () => {
  expect(await lookAtCertificate({ url: 'http://127.0.0.1:1' })).toMatchObject([{ state: 'ok' }])
  expect(await lookAtCertificate({ url: 'https://127.0.0.1:1' })).toMatchObject([{ state: 'broken' }])
})

test('a store that cannot be written is broken, by itself; problems of rules are one note', () => {
  const about = { node_id: null, node_name: null, key: null, model_name: null }
  const findings = lookAtProblems([
    { ...about, kind: 'store', severity: 'error', text: 'the disk is full', advice: 'Make room.' },
    { ...about, kind: 'process', severity: 'warning', text: 'the log stands still', advice: null },
    { ...about, kind: 'rule', severity: 'warning', text: 'one replica is missing', advice: null },
  ])
  expect(findings.map(({ state, what, text }) => `${state} ${what}: ${text}`)).toEqual([
    'broken store: the disk is full',
    'note process: the log stands still',
    'note cluster: 1 problem, the first: one replica is missing',
  ])
})
