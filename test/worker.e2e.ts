import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { create } from 'tar'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { BackendView, LogEntry, LogLine, ReplicaView, Unloaded } from '../src/api/admin/schemas.ts'
import { replicaPath } from '../src/api/data-port.ts'
import { dataKeyOf } from '../src/control/workers/data-key.ts'
import { Cluster } from './support/cluster.ts'
import { freePort } from './support/http/free-port.ts'
import { enginesOf, runFlotilla, startCommand, startUp } from './support/flotilla.ts'
import { tempFolder } from './support/temp-folder.ts'
import { isAlive, until } from './support/until.ts'

const SIM = fileURLToPath(new URL('../engines/sim/main.ts', import.meta.url))
const FAST = { ttft_ms: 0, tokens_per_s: 0 }
const WITH_GPU = { FLOTILLA_FAKE_DEVICES: '[{"name":"GPU","total_vram":25769803776}]' }
/** A sim engine that insists on its model's file. */
const withFile = `test -s {{model_path}} && exec ${process.execPath} ${SIM} --port {{port}} --model {{model}} --ttft-ms=0 --tokens-per-s=0`

async function oneWorker(args: string[] = [], env: Record<string, string> = {}) {
  // A worker that is started again on a busy machine must not be taken for dead meanwhile.
  const cluster = await Cluster.start('--auto-approve', '--offline-after-ms', '15000')
  const worker = cluster.worker('a', { args, env })
  await cluster.isHealthy('a')
  return { cluster, worker, nodeId: (await cluster.node('a'))!.id }
}

async function aServer(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const replicas = (cluster: Cluster): Promise<ReplicaView[]> => cluster.ask('GET', '/api/replicas')

describe('a worker that is killed', () => {
  test('and started again goes on with its engines: the same replicas, the same processes', async () => {
    const { cluster, worker } = await oneWorker()
    await cluster.model('m', 1)
    const [before] = await replicas(cluster)
    const engines = enginesOf(worker.data)
    await worker.signal('SIGKILL')
    expect(engines.every(isAlive)).toBe(true)
    cluster.worker('a', { data: worker.data })
    await until(() => cluster.answers('m'))
    expect(enginesOf(worker.data)).toEqual(engines)
    expect(await replicas(cluster)).toMatchObject([{ id: before!.id, generation: before!.generation, state: 'ready' }])
  })

  test('while an engine starts: the start goes on, and there is one engine in the end', async () => {
    const { cluster, worker } = await oneWorker()
    await cluster.ask('POST', '/api/models', { name: 'm', engine: 'sim', options: { ...FAST, load_ms: 1500 } })
    await cluster.ask('POST', '/api/nodes/scheduling', { model_name: 'm', min_replicas: 1 })
    await until(() => enginesOf(worker.data).length === 1)
    await worker.signal('SIGKILL')
    cluster.worker('a', { data: worker.data })
    await until(() => cluster.answers('m'))
    await until(async () => (await replicas(cluster)).every(({ state }) => state === 'ready'))
    expect(enginesOf(worker.data)).toHaveLength(1)
  })

  test('while a file is fetched: the next run fetches only the rest', async () => {
    const bytes = Buffer.alloc(400_000, 'flotilla')
    const asked: (string | undefined)[] = []
    let isSlow = true
    const url = await aServer((request, response) => {
      asked.push(request.headers.range)
      const from = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0)
      const rest = bytes.subarray(from)
      const headers = { 'content-length': rest.length, etag: '"one"', 'accept-ranges': 'bytes' }
      response.writeHead(
        from > 0 ? 206 : 200,
        from > 0 ? { ...headers, 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` } : headers,
      )
      if (isSlow) response.write(rest.subarray(0, 200_000))
      else response.end(rest)
    })
    const { cluster, worker } = await oneWorker()
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const source = `${url}/m.gguf#sha256=${sha256}`
    await cluster.ask('POST', '/api/models', { name: 'm', engine: 'command', source, options: { command: withFile } })
    await cluster.ask('POST', '/api/nodes/scheduling', { model_name: 'm', min_replicas: 1 })
    await until(async () => {
      const [replica] = await replicas(cluster)
      return replica?.state === 'staging' && replica.progress?.done_bytes === 200_000
    })
    expect((await replicas(cluster))[0]!.progress).toMatchObject({ file: 'm.gguf', total_bytes: 400_000 })
    await worker.signal('SIGKILL')
    isSlow = false
    cluster.worker('a', { data: worker.data })
    await until(() => cluster.answers('m'))
    expect(asked.at(-1)).toMatch(/^bytes=[1-9]\d*-$/)

    const { id } = (await cluster.node('a'))!
    const asks = cluster.frontend.admin('POST', `/api/nodes/${id}/models/delete`, { model_name: 'm' })
    expect(await asks).toMatchObject({ status: 409, body: { error: { message: expect.stringContaining('rule') } } })
    await cluster.ask('DELETE', '/api/nodes/scheduling/m')
    await cluster.ask('POST', '/api/models/m/unload', {})
    await until(async () => (await replicas(cluster)).length === 0)
    expect(await cluster.ask('POST', `/api/nodes/${id}/models/delete`, { model_name: 'm' })).toEqual({
      files: 1,
      freed_bytes: 400_000,
    })
  })
})

test('a worker that comes back while no frontend is there serves what runs, to those who have its key', async () => {
  const port = await freePort()
  const { cluster, worker, nodeId } = await oneWorker(['--worker-listen', `127.0.0.1:${port}`])
  await cluster.model('m', 1)
  const [replica] = await replicas(cluster)
  const secret = readFileSync(join(cluster.frontend.data, 'cluster.secret'), 'utf8').trim()
  await cluster.frontend.signal('SIGKILL')
  await worker.signal('SIGKILL')
  cluster.worker('a', { data: worker.data, args: ['--worker-listen', `127.0.0.1:${port}`] })
  const ask = async (key: string): Promise<number> => {
    const path = `${replicaPath(replica!.id, replica!.generation)}/v1/models`
    const headers = { authorization: `Bearer ${key}` }
    return (await fetch(`http://127.0.0.1:${port}${path}`, { headers }).catch(() => ({ status: 0 }))).status
  }
  await until(async () => (await ask(dataKeyOf(secret, nodeId))) === 200)
  expect(await ask('guessed')).toBe(401)
})

test('SIGTERM with 20 streams running breaks none of them', async () => {
  const { cluster, worker } = await oneWorker()
  await cluster.model('m', 1, { ttft_ms: 0, tokens_per_s: 40, parallel: 20 })
  const streams = await Promise.all(Array.from({ length: 20 }, () => cluster.chat('m')))
  await until(async () => (await cluster.node('a'))!.in_flight_count === 20)
  const engines = enginesOf(worker.data)
  const ended = worker.signal('SIGTERM')
  await until(async () => (await replicas(cluster)).some(({ state }) => state === 'draining'))
  const texts = await Promise.all(streams.map((stream) => stream.text()))
  expect(texts.filter((text) => !text.trimEnd().endsWith('data: [DONE]'))).toEqual([])
  expect((await ended).code).toBe(0)
  expect(engines.some(isAlive)).toBe(false)
})

test('a second signal stops now', async () => {
  const { cluster, worker } = await oneWorker()
  await cluster.model('m', 1, { ttft_ms: 0, tokens_per_s: 10 })
  const running = await cluster.chat('m')
  const engines = enginesOf(worker.data)
  const ended = worker.signal('SIGTERM')
  await until(async () => (await replicas(cluster)).some(({ state }) => state === 'draining'))
  void worker.signal('SIGTERM')
  expect((await ended).code).toBe(130)
  await until(() => !engines.some(isAlive))
  expect(await running.text()).not.toContain('[DONE]')
})

test('--restart-engines begins with a clean slate', async () => {
  const { cluster, worker } = await oneWorker()
  await cluster.model('m', 1)
  const engines = enginesOf(worker.data)
  await worker.signal('SIGKILL')
  cluster.worker('a', { data: worker.data, args: ['--restart-engines'] })
  await until(() => !engines.some(isAlive))
  await until(() => cluster.answers('m'))
  expect(enginesOf(worker.data)).toHaveLength(1)
})

test('two replicas on one node: unloading one leaves the other; each has its log, and the model has both', async () => {
  const { cluster, worker, nodeId } = await oneWorker(['--max-replicas-per-model', '2'])
  const name = 'org/m #1 ü%'
  await cluster.model(name, 2)
  const before = enginesOf(worker.data)
  expect(before).toHaveLength(2)
  const logs = `/api/nodes/${nodeId}/backend-logs`
  const linesOf = async (of: string) =>
    (await cluster.ask<{ lines: LogLine[] }>('GET', `${logs}/${encodeURIComponent(of)}`)).lines
  expect(await cluster.ask<LogEntry[]>('GET', logs)).toMatchObject([
    { model_name: name, replicas: [{ key: `${name}#0` }, { key: `${name}#1` }] },
  ])
  expect(new Set((await linesOf(`${name}#1`)).map(({ replica }) => replica))).toEqual(new Set([`${name}#1`]))
  expect(new Set((await linesOf(name)).map(({ replica }) => replica))).toEqual(new Set([`${name}#0`, `${name}#1`]))
  expect(await linesOf(`${name}#7`)).toEqual([])

  const unload = (index?: number) =>
    cluster.ask<Unloaded>('POST', `/api/nodes/${nodeId}/models/unload`, { model_name: name, replica_index: index })
  const [zero] = await replicas(cluster)
  expect(await unload(1)).toMatchObject({ replicas: [{ key: `${name}#1`, gone: true }], kept_by_rule: true })
  await until(async () => (await cluster.ready(name)).length === 2)
  expect(await replicas(cluster)).toMatchObject([{ id: zero!.id, generation: zero!.generation }, {}])
  await cluster.ask('DELETE', `/api/nodes/scheduling/${encodeURIComponent(name)}`)
  expect(await unload()).toMatchObject({ kept_by_rule: false })
  await until(() => enginesOf(worker.data).length === 0)
  expect((await linesOf(name)).length).toBeGreaterThan(0)
})

test('flotilla logs shows what an engine said, and with -f goes on with the next one', async () => {
  const up = await startUp()
  const cli = (...args: string[]) => runFlotilla([...args, '--data', up.data])
  expect(await cli('logs', 'sim')).toMatchObject({ code: 0, stdout: expect.stringMatching(/sim#0 \| .*listening on/) })
  expect(await cli('logs', 'simm')).toMatchObject({ code: 1, stderr: expect.stringContaining('Did you mean sim?') })
  const found = (await cli('logs', 'sim', '--grep', 'LISTENING', '--json')).stdout.trim().split('\n')
  expect(found.map((line) => JSON.parse(line) as LogLine)).toMatchObject([
    { replica: 'sim#0', stream: 'stdout', text: expect.stringContaining('listening') },
  ])
  const following = startCommand(['logs', 'sim', '-f', '--data', up.data])
  const listening = () => following.stdout().match(/listening on/g)?.length ?? 0
  await until(() => listening() === 1)
  process.kill(enginesOf(up.data)[0]!, 'SIGKILL')
  await until(() => listening() === 2)
  expect((await following.signal('SIGINT')).code).toBe(0)
})

describe('engines', () => {
  test('one whose program is missing is a refusal that names it; installed, the rule is met', async () => {
    const { cluster, nodeId } = await oneWorker([], WITH_GPU)
    const folder = tempFolder()
    const program = `#!/bin/sh\n# serve MODEL --served-model-name=… --host=… --port=…\nfor arg; do case $arg in --port=*) port=\${arg#*=};; --served-model-name=*) name=\${arg#*=};; esac; done\nexec ${process.execPath} ${SIM} --port "$port" --model "$name" --ttft-ms=0 --tokens-per-s=0\n`
    mkdirSync(join(folder, 'vllm-1.0', 'bin'), { recursive: true })
    writeFileSync(join(folder, 'vllm-1.0', 'bin', 'vllm'), program)
    chmodSync(join(folder, 'vllm-1.0', 'bin', 'vllm'), 0o755)
    const archive = join(folder, 'vllm.tar.gz')
    await create({ file: archive, gzip: true, cwd: folder }, ['vllm-1.0'])
    const bytes = readFileSync(archive)
    const url = await aServer((_request, response) => response.end(bytes))
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    writeFileSync(join(folder, 'weights'), 'weights')

    await cluster.ask('POST', '/api/models', { name: 'm', engine: 'vllm', source: `file:${folder}/weights` })
    await cluster.ask('POST', '/api/nodes/scheduling', { model_name: 'm', min_replicas: 1 })
    await until(() => cluster.frontend.stderr().includes('vllm'))
    expect(await replicas(cluster)).toEqual([])
    const backends = () => cluster.ask<BackendView[]>('GET', `/api/nodes/${nodeId}/backends`)
    const vllm = async () => (await backends()).find(({ name }) => name === 'vllm')!
    expect(await vllm()).toMatchObject({ state: 'missing', reason: expect.stringContaining('"vllm"') })

    const install = (sum: string) =>
      cluster.ask('POST', `/api/nodes/${nodeId}/backends/install`, {
        engine: 'vllm',
        archive: { url: `${url}/vllm.tar.gz`, sha256: sum },
      })
    await install('0'.repeat(64))
    await until(async () => (await vllm()).operation?.state === 'failed')
    expect((await vllm()).state).toBe('missing')
    await install(sha256)
    await until(async () => (await vllm()).state === 'available')
    await until(() => cluster.answers('m'))

    await cluster.ask('POST', `/api/nodes/${nodeId}/backends/delete`, { engine: 'vllm' })
    await until(async () => (await vllm()).state === 'missing')
    expect((await vllm()).operation).toMatchObject({ kind: 'delete', state: 'done', stopped: ['m#0'] })
    // One that was placed before the node's word of it arrived has failed; none runs.
    await until(async () => (await replicas(cluster)).every(({ state }) => state === 'failed'))
  })

  test('users add their own in YAML, and a mistake in one is told, not fatal', async () => {
    const data = join(tempFolder(), 'a')
    const profiles = join(data, 'engine-profiles')
    mkdirSync(profiles, { recursive: true })
    writeFileSync(
      join(profiles, 'mine.yaml'),
      `name: mine\ncommand: [${process.execPath}, ${SIM}, --port, '{{port}}', --model, '{{model}}', --ttft-ms=0, --tokens-per-s=0]\nmodel: none\nready: { http: /health }\n`,
    )
    writeFileSync(join(profiles, 'bad.yaml'), 'name: bad\ncommand: [x]\nready: soon\n')
    const cluster = await Cluster.start('--auto-approve')
    cluster.worker('a', { data })
    await cluster.isHealthy('a')
    await cluster.ask('POST', '/api/models', { name: 'm', engine: 'mine' })
    await cluster.ask('POST', '/api/nodes/scheduling', { model_name: 'm', min_replicas: 1 })
    await until(() => cluster.answers('m'))
    const { id } = (await cluster.node('a'))!
    const backends = await cluster.ask<BackendView[]>('GET', `/api/nodes/${id}/backends`)
    expect(backends.find(({ name }) => name === 'bad')).toMatchObject({
      state: 'broken',
      reason: expect.stringContaining('bad.yaml'),
    })
  })
})

test('a model file that the frontend has is fetched from it', async () => {
  const { cluster } = await oneWorker()
  const folder = join(cluster.frontend.data, 'models', 'sub folder')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'm ü.gguf'), 'weights')
  await cluster.ask('POST', '/api/models', {
    name: 'm',
    engine: 'command',
    source: 'frontend:sub folder/m ü.gguf',
    options: { command: withFile },
  })
  await cluster.ask('POST', '/api/nodes/scheduling', { model_name: 'm', min_replicas: 1 })
  await until(() => cluster.answers('m'))
  expect(await replicas(cluster)).toMatchObject([{ state: 'ready' }])
})

test('the worker tells this machine how it is, and with --health-listen others as well', async () => {
  const port = 24_990 + (process.pid % 9)
  const { worker } = await oneWorker(['--health-listen', `127.0.0.1:${port}`])
  await until(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200)
  expect(await (await fetch(`http://127.0.0.1:${port}/healthz`)).json()).toEqual({ status: 'ok' })
  expect((await fetch(`http://127.0.0.1:${port}/logs`)).status).toBe(404)
  expect((await worker.signal('SIGTERM')).code).toBe(0)
})

test('a node takes another key and stays the node that it is, while its engines go on', async () => {
  const { cluster, worker, nodeId } = await oneWorker()
  await cluster.model('m', 1)
  const before = enginesOf(worker.data)
  const keyOf = async () => (await cluster.node('a'))!.public_key
  const old = await keyOf()
  // As for an update: what runs is left to the next one.
  await worker.signal('SIGKILL')
  cluster.worker('a', { data: worker.data, args: ['--rotate-node-key'] })
  await until(async () => (await keyOf()) !== old)
  await until(() => cluster.answers('m'))
  expect((await cluster.node('a'))!.id).toBe(nodeId)
  expect(enginesOf(worker.data)).toEqual(before)
  await until(() => !existsSync(join(worker.data, 'node.seed.old')))
})
