import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { ReplicaView } from '../src/api/admin/schemas.ts'
import { enginesOf, runFlotilla, startUp, type Flotilla } from './support/flotilla.ts'
import { startNatsServer } from './support/bus/nats-server.ts'
import { createTestDatabase } from './support/postgres/postgres.ts'
import { tempFolder } from './support/temp-folder.ts'
import { isAlive, until } from './support/until.ts'

const chat = (model: string, stream = true) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'Hello' }] }),
})
const answers = async (up: Flotilla, model: string): Promise<boolean> =>
  (await fetch(`${up.url}/v1/chat/completions`, chat(model))).ok

function refusesConnections(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    socket.once('connect', () => resolve(false)).once('error', () => resolve(true))
    socket.once('close', () => socket.destroy())
  })
}

describe('flotilla up', () => {
  test('prints what a person needs, and the command it prints streams an answer when pasted', async () => {
    const up = await startUp()
    for (const needed of [`${up.url}/v1`, `${up.url}/`, up.data, join(up.data, 'admin.key')])
      expect(up.stdout()).toContain(needed)
    const line = /^curl .*$/m.exec(up.stdout())![0]
    const { stdout } = await promisify(execFile)('sh', ['-c', line])
    const events = stdout.trim().split('\n\n')
    expect(events.length).toBeGreaterThan(10)
    expect(events.at(-1)).toBe('data: [DONE]')
    expect(stdout).toContain('chat.completion.chunk')
  })

  test('serves plain chat, completions, embeddings and the list of models', async () => {
    const up = await startUp()
    const post = async (path: string, body: object) =>
      (await fetch(`${up.url}${path}`, { method: 'POST', body: JSON.stringify({ model: 'sim', ...body }) })).json()
    expect(
      await post('/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 5 }),
    ).toMatchObject({
      object: 'chat.completion',
      usage: { completion_tokens: 5 },
    })
    expect(await post('/v1/completions', { prompt: 'Hi', max_tokens: 5 })).toMatchObject({ object: 'text_completion' })
    expect(await post('/v1/embeddings', { input: ['a', 'b'] })).toMatchObject({ data: [{ index: 0 }, { index: 1 }] })
    expect(await (await fetch(`${up.url}/v1/models`)).json()).toMatchObject({
      data: [{ id: 'sim', ready_replicas: 1 }],
    })
    expect(await (await fetch(`${up.url}/readyz`)).json()).toMatchObject({ status: 'ready' })
  })

  test('Ctrl-C stops everything: no process, no port and no temporary file is left', async () => {
    const up = await startUp()
    const engines = enginesOf(up.data)
    expect(engines).toHaveLength(1)
    expect(JSON.parse(readFileSync(join(up.data, 'endpoint.json'), 'utf8'))).toMatchObject({ url: up.url })
    const { code, stderr } = await up.signal('SIGINT')
    expect(code).toBe(0)
    expect(engines.filter(isAlive)).toEqual([])
    expect(await refusesConnections(up.url)).toBe(true)
    expect(await refusesConnections(up.bus)).toBe(true)
    expect(existsSync(up.readyFile)).toBe(false)
    // The gateway's certificate for data ports comes when control has answered, which may be before the end or after it.
    const left = readdirSync(up.data).filter((name) => name !== 'data-client.json')
    expect(left.toSorted()).toEqual(
      [
        'admin.key',
        'cluster.id',
        'cluster.secret',
        'flotilla.db',
        'frontend.id',
        'join.token',
        'lock',
        'node.seed',
        'routing-table.json',
        'store.seen',
        'worker',
      ].toSorted(),
    )
    expect(stderr).not.toMatch(/"level":[456]0/)
  })

  test('SIGTERM lets a running answer finish', async () => {
    const up = await startUp()
    const response = await fetch(`${up.url}/v1/chat/completions`, chat('sim'))
    const reader = response.body!.getReader()
    await reader.read()
    const ended = up.signal('SIGTERM')
    let text = ''
    for (let part = await reader.read(); !part.done; part = await reader.read())
      text += Buffer.from(part.value).toString()
    expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true)
    expect((await ended).code).toBe(0)
  })

  test('after kill -9 nothing configured is lost, and what ran goes on under the next run', async () => {
    const up = await startUp()
    const model = { name: 'org/mine #1', engine: 'sim', options: { ttft_ms: 0, tokens_per_s: 0 } }
    expect((await up.admin('POST', '/api/models', model)).status).toBe(200)
    expect((await up.admin('POST', '/api/nodes/scheduling', { model_name: model.name, min_replicas: 1 })).status).toBe(
      200,
    )
    await until(() => answers(up, model.name))
    const key = readFileSync(join(up.data, 'admin.key'), 'utf8')
    const [nodeBefore] = (await up.admin('GET', '/api/nodes')).body as { id: string }[]
    const engines = enginesOf(up.data)
    expect(engines).toHaveLength(2)

    await up.signal('SIGKILL')
    expect(engines.every(isAlive)).toBe(true)
    const again = await startUp({ data: up.data })
    await until(() => answers(again, model.name))
    expect(new Set(enginesOf(up.data))).toEqual(new Set(engines))
    expect(await answers(again, 'sim')).toBe(true)
    expect((await again.admin('GET', '/api/models')).body).toMatchObject([model, { name: 'sim' }])
    expect(readFileSync(join(up.data, 'admin.key'), 'utf8')).toBe(key)
    expect((await again.admin('GET', '/api/nodes')).body).toMatchObject([{ id: nodeBefore!.id, status: 'healthy' }])
  })

  test('an engine that is killed is replaced by itself', async () => {
    const up = await startUp()
    const [engine] = enginesOf(up.data)
    process.kill(engine!, 'SIGKILL')
    await until(() => enginesOf(up.data).some((pid) => pid !== engine))
    await until(() => answers(up, 'sim'))
    expect(enginesOf(up.data)).not.toContain(engine)
  })

  test('when its own node is removed, it stops running replicas and goes on serving', async () => {
    const up = await startUp()
    const [node] = (await up.admin('GET', '/api/nodes')).body as { id: string }[]
    await up.admin('DELETE', `/api/nodes/${node!.id}`)
    await until(() => enginesOf(up.data).length === 0)
    await until(() => up.stderr().includes('no longer a node of the cluster'))
    expect((await up.admin('GET', '/api/nodes')).body).toEqual([])
    expect((await up.signal('SIGTERM')).code).toBe(0)
    const again = await startUp({ data: up.data })
    await until(() => answers(again, 'sim'))
  })

  test('a model without a rule stays until it is unloaded, and its next request loads it again', async () => {
    const up = await startUp()
    const [engine] = enginesOf(up.data)
    await up.admin('DELETE', '/api/nodes/scheduling/sim')
    expect(await answers(up, 'sim')).toBe(true)
    expect(enginesOf(up.data)).toEqual([engine])
    expect((await up.admin('POST', '/api/models/sim/unload', {})).body).toMatchObject({ kept_by_rule: false })
    await until(async () => ((await up.admin('GET', '/api/replicas')).body as unknown[]).length === 0)
    expect(isAlive(engine!)).toBe(false)
    expect(await answers(up, 'sim')).toBe(true)
    expect(enginesOf(up.data)).toHaveLength(1)
  })

  test('a model whose engine cannot start says why, and one whose engine is nowhere is not even tried', async () => {
    const up = await startUp()
    const keep = (name: string) => up.admin('POST', '/api/nodes/scheduling', { model_name: name, min_replicas: 1 })
    await up.admin('POST', '/api/models?later=true', { name: 'broken', engine: 'sim', options: { nonsense: 1 } })
    await up.admin('POST', '/api/models?later=true', { name: 'nowhere', engine: 'warp' })
    await keep('broken')
    await keep('nowhere')
    const replicas = async () => (await up.admin('GET', '/api/replicas')).body as ReplicaView[]
    const broken = async () => (await replicas()).find((replica) => replica.model_name === 'broken')
    await until(async () => (await broken())?.state === 'failed')
    expect(await broken()).toMatchObject({
      error: expect.stringMatching(/^The engine exited with code 2\. Its last lines:\n.*nonsense/),
      last_exit: { code: 2, signal: null, last_lines: [expect.stringContaining('nonsense')] },
    })
    await until(() => up.stderr().includes('cannot run warp: the node has no such engine'))
    expect((await replicas()).some((replica) => replica.model_name === 'nowhere')).toBe(false)
  })
})

describe('mistakes end with one clear line and exit code 2', () => {
  const isOneLine = (text: string): boolean => /^flotilla( \w+)?: [^\n]+\n$/.test(text)

  test('a port in use', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void other.close())
    const { port } = other.address() as AddressInfo
    const { code, stderr } = await runFlotilla(['up', '--data', tempFolder(), '--listen', `127.0.0.1:${port}`])
    expect(code).toBe(2)
    expect(stderr).toContain(`Cannot listen on 127.0.0.1:${port} for the API: another program uses that port.`)
    expect(isOneLine(stderr)).toBe(true)
  })

  test('a data folder in use: the first instance goes on', async () => {
    const up = await startUp()
    const { code, stderr } = await runFlotilla(['up', '--data', up.data, '--listen', '127.0.0.1:0'])
    expect(code).toBe(2)
    expect(stderr).toContain(`in use by another Flotilla (process ${up.pid})`)
    expect(isOneLine(stderr)).toBe(true)
    expect(await answers(up, 'sim')).toBe(true)
  })

  test.each([
    [['up', '--lisen', '127.0.0.1:1'], 'did you mean --listen?'],
    [['up', '--listen', 'here'], '--listen: expected host:port'],
    [['up', '--config', '/nowhere.yaml'], 'Cannot read the configuration file /nowhere.yaml'],
    [['up', '--data', '/dev/null/data'], 'Cannot use the data folder /dev/null/data'],
    [['dance'], 'There is no command "dance"'],
  ])('%j', async (args, message) => {
    const { code, stderr, stdout } = await runFlotilla(args)
    expect(code).toBe(2)
    expect(stderr).toContain(message)
    expect(isOneLine(stderr)).toBe(true)
    expect(stdout).toBe('')
  })

  test('a configuration file with an unknown key', async () => {
    const file = join(tempFolder(), 'flotilla.yaml')
    writeFileSync(file, 'listen: 127.0.0.1:0\nengine_port: 1-2\n')
    const { code, stderr } = await runFlotilla(['up', '--config', file])
    expect(code).toBe(2)
    expect(stderr).toBe(`flotilla: ${file}:2: engine_port: there is no such option; did you mean engine_ports?\n`)
  })

  test('a database that does not answer is told without its password, and nothing is left running', async () => {
    const url = 'postgres://me:hunter2@127.0.0.1:1/db'
    const { code, stderr } = await runFlotilla([
      'up',
      '--data',
      tempFolder(),
      '--listen',
      '127.0.0.1:0',
      '--database-url',
      url,
    ])
    expect(code).toBe(1)
    expect(stderr).toContain('127.0.0.1:1')
    expect(stderr).not.toContain('hunter2')
  })
})

test('help and version answer for the program and for every command', async () => {
  expect((await runFlotilla(['--help'])).stdout).toContain('Usage: flotilla <command>')
  expect((await runFlotilla(['up', '--help'])).stdout).toContain('--listen <host:port>')
  expect((await runFlotilla(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
})

describe('on PostgreSQL and a real NATS', () => {
  async function aBigUp(natsPort?: number) {
    const database = await createTestDatabase()
    onTestFinished(() => database.drop())
    const nats = await startNatsServer(natsPort === undefined ? { limits: {} } : { port: natsPort })
    onTestFinished(() => nats.stop())
    const args = ['--database-url', database.url, '--nats-url', nats.url]
    return { nats, args, up: await startUp({ args }) }
  }

  test('the same path serves, and a restart finds everything again', async () => {
    const { up, args } = await aBigUp()
    expect(await answers(up, 'sim')).toBe(true)
    await up.admin('POST', '/api/models', { name: 'second', engine: 'sim' })
    await up.signal('SIGKILL')
    const again = await startUp({ data: up.data, args })
    expect((await again.admin('GET', '/api/models')).body).toMatchObject([{ name: 'second' }, { name: 'sim' }])
    await until(() => answers(again, 'sim'))
    expect(existsSync(join(up.data, 'flotilla.db'))).toBe(false)
  })

  test('with NATS away loaded models keep answering; when it is back, so is everything else', async () => {
    const { nats, up } = await aBigUp()
    // A model that is still being loaded could not be loaded without the bus.
    expect(await answers(up, 'sim')).toBe(true)
    await nats.stop()
    await until(async () => (await fetch(`${up.url}/readyz`)).status === 503)
    expect(await answers(up, 'sim')).toBe(true)
    const again = await startNatsServer({ port: nats.port })
    onTestFinished(() => again.stop())
    await up.admin('POST', '/api/models', { name: 'late', engine: 'sim' })
    await up.admin('POST', '/api/nodes/scheduling', { model_name: 'late', min_replicas: 1 })
    await until(() => answers(up, 'late'))
    expect((await fetch(`${up.url}/readyz`)).status).toBe(200)
  })
})
