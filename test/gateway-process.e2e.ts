import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Cluster } from './support/cluster.ts'
import { runFlotilla, startGatewayProcess, type Flotilla, type StartOptions } from './support/flotilla.ts'
import { serve } from './support/http/http.ts'
import { natsAccounts } from './support/bus/nats-accounts.ts'
import { startNatsServer } from './support/bus/nats-server.ts'
import { tempFolder } from './support/temp-folder.ts'
import { isAlive, until } from './support/until.ts'

/** A frontend, a worker with the model `m`, and a gateway in front of it. */
async function aCluster(...args: string[]): Promise<Cluster> {
  const cluster = await Cluster.start('--auto-approve', ...args)
  await cluster.members('a')
  await cluster.model('m', 1)
  return cluster
}

function aGateway({ frontend }: Cluster, options: StartOptions = {}): Promise<Flotilla> {
  const { args = [], ...rest } = options
  return startGatewayProcess({ env: keyOf(frontend), args: ['--url', frontend.url, ...args], ...rest })
}

const keyOf = ({ data }: Flotilla) => ({ FLOTILLA_KEY: readFileSync(join(data, 'admin.key'), 'utf8').trim() })

async function ask(
  { url }: Pick<Flotilla, 'url'>,
  model = 'm',
  headers: Record<string, string> = {},
): Promise<Response> {
  const messages = [{ role: 'user', content: 'Hello' }]
  const body = JSON.stringify({ model, max_tokens: 5, messages })
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body, headers })
  await response.arrayBuffer()
  return response
}

const answers = async (gateway: Pick<Flotilla, 'url'>, model = 'm') => (await ask(gateway, model)).status === 200
const readyz = async ({ url }: Flotilla) => {
  const response = await fetch(`${url}/readyz`)
  return { code: response.status, ...((await response.json()) as { notes?: Record<string, string> }) }
}
const errorOf = async (response: Response) =>
  ((await response.json()) as { error: { message: string; code: string } }).error

describe('a gateway beside a frontend', () => {
  test('serves models and health, and says where the admin API is', async () => {
    const cluster = await aCluster()
    const gateway = await aGateway(cluster, { args: ['--expose-node-header'] })
    const response = await ask(gateway)
    expect([response.status, response.headers.get('x-flotilla-node')]).toEqual([200, 'a'])
    expect(await readyz(gateway)).toMatchObject({ code: 200, checks: { gateway: 'ok' } })
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200)
    const api = await fetch(`${gateway.url}/api/nodes`)
    expect(api.status).toBe(404)
    expect((await errorOf(api)).message).toContain(cluster.frontend.url)
    const tags = (await (await fetch(`${gateway.url}/api/tags`)).json()) as { models: { name: string }[] }
    expect(tags.models.length).toBeGreaterThan(0)
    expect((await fetch(`${gateway.url}/`)).status).toBe(404)
    for (const name of ['gateway.seed', 'routing-table.json']) {
      await until(() => readdirSync(gateway.data).includes(name))
      expect(statSync(join(gateway.data, name)).mode & 0o777, name).toBe(0o600)
    }
    expect(gateway.stdout() + gateway.stderr()).not.toContain(keyOf(cluster.frontend).FLOTILLA_KEY)
    expect((await gateway.signal('SIGTERM')).code).toBe(0)
  })

  test('answers for loaded models after the frontend was killed, and joins again when it is back', async () => {
    const cluster = await aCluster()
    const { frontend } = cluster
    // Of several frontends any one will do.
    const join = `http://127.0.0.1:1,${frontend.url}`
    const gateway = await startGatewayProcess({ env: keyOf(frontend), args: ['--join', join] })
    await cluster.frontend.signal('SIGKILL')
    for (let i = 0; i < 20; i += 1) expect(await answers(gateway)).toBe(true)
    await until(async () => (await readyz(gateway)).notes?.['bus'] === 'not connected')
    expect((await readyz(gateway)).code).toBe(200)

    await cluster.restart()
    await cluster.isHealthy('a')
    // The restarted frontend has another bus, which has never heard of the gateway.
    await cluster.model('late', 1)
    await until(() => answers(gateway, 'late'))
    await until(async () => (await readyz(gateway)).notes === undefined)
  })

  test('that starts while the frontend is away serves from its saved table, and catches up', async () => {
    const cluster = await aCluster()
    const gateway = await aGateway(cluster)
    const { data } = gateway
    expect((await gateway.signal('SIGTERM')).code).toBe(0)
    await cluster.frontend.signal('SIGKILL')
    const again = await aGateway(cluster, { data })
    expect(await answers(again)).toBe(true)
    expect(await readyz(again)).toMatchObject({
      code: 200,
      notes: { table: expect.stringMatching(/saved at 20\d\d-/) },
    })
    await cluster.restart()
    await cluster.isHealthy('a')
    await until(async () => (await readyz(again)).notes === undefined)
    expect(await answers(again)).toBe(true)
  })

  test('refuses a key that was revoked, as does every other gateway, as soon as they are told', async () => {
    const cluster = await aCluster()
    const gateways = [await aGateway(cluster), await aGateway(cluster), cluster.frontend]
    const { id, key } = await cluster.ask<{ id: string; key: string }>('POST', '/api/keys', { name: 'k' })
    const statuses = () =>
      Promise.all(gateways.map(async (one) => (await ask(one, 'm', { authorization: `Bearer ${key}` })).status))
    await until(async () => (await statuses()).every((status) => status === 200))
    await cluster.ask('DELETE', `/api/keys/${id}`)
    const startMs = performance.now()
    await until(async () => (await statuses()).every((status) => status === 401))
    // Some tens of milliseconds on an idle machine; this is for one that has ten times as much to do as it can.
    expect(performance.now() - startMs).toBeLessThan(10_000)
  })

  test('ignores a damaged table and waits for the frontend', async () => {
    const cluster = await aCluster()
    const data = join(tempFolder(), 'gateway')
    await (await aGateway(cluster, { data })).signal('SIGTERM')
    writeFileSync(join(data, 'routing-table.json'), '{"saved_at": 1, "table"')
    const again = await aGateway(cluster, { data })
    expect(await answers(again)).toBe(true)
  })

  test('shows on the frontend what it did with a request', async () => {
    const cluster = await aCluster()
    const gateway = await aGateway(cluster)
    await ask(gateway, 'm', { 'x-request-id': 'where-did-it-go' })
    const record = await cluster.ask('GET', '/api/requests/where-did-it-go')
    expect(record).toMatchObject({ model: 'm', status: 200, gateway: expect.stringMatching(/^gateway-/) })
  })
})

describe('mistakes end it with one clear line', () => {
  const run = (url: string, key: string, ...args: string[]) =>
    runFlotilla(['gateway', '--url', url, '--data', join(tempFolder(), 'd'), '--listen', '127.0.0.1:0', ...args], {
      FLOTILLA_KEY: key,
    })

  test.each([[[]], [['--processes', '2']]])('a wrong key (%j)', async (args) => {
    const { frontend } = await Cluster.start()
    const { code, stderr } = await run(frontend.url, 'fla_wrong', ...args)
    expect([code, stderr.match(/does not admit this gateway/g)?.length]).toEqual([2, 1])
    expect(stderr).toContain('FLOTILLA_KEY')
    expect(stderr).not.toContain('fla_wrong')
  })

  test('something that is no frontend', async () => {
    const url = await serve((_, response) => void response.end('<html>hello</html>'))
    const { code, stderr } = await run(url, 'k')
    expect(code).toBe(2)
    expect(stderr).toContain('is this a Flotilla frontend?')
  })

  test('no cluster, and no key', async () => {
    expect(await runFlotilla(['gateway'])).toMatchObject({ code: 2, stderr: expect.stringContaining('Which cluster?') })
    const keyless = await runFlotilla(['gateway', '--url', 'http://127.0.0.1:1'])
    expect(keyless).toMatchObject({ code: 2, stderr: expect.stringContaining('FLOTILLA_KEY') })
  })
})

describe('several processes', () => {
  const childrenOf = (pid: number): number[] =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)

  test('serve on one port, survive a killed child, and end together', async () => {
    const cluster = await aCluster()
    const gateway = await aGateway(cluster, { args: ['--processes', '2'] })
    const before = childrenOf(gateway.pid)
    expect(before).toHaveLength(2)
    expect(readdirSync(gateway.data)).toEqual(expect.arrayContaining(['process-1', 'process-2']))
    process.kill(before[0]!, 'SIGKILL')
    // A process that is about to end still takes connections until its last thread is gone.
    await until(() => gateway.stderr().includes('a process ended'))
    // The other takes all connections meanwhile.
    for (let i = 0; i < 20; i += 1) expect(await answers(gateway)).toBe(true)
    await until(() => childrenOf(gateway.pid).length === 2 && !childrenOf(gateway.pid).includes(before[0]!))
    await until(() => gateway.stderr().split('"serving"').length > 3)
    for (let i = 0; i < 20; i += 1) expect(await answers(gateway)).toBe(true)
    // Whichever is asked shows the figures of both.
    const figures = await (await fetch(`${gateway.url}/metrics`)).text()
    for (const number of [1, 2])
      expect(figures).toMatch(new RegExp(`^flotilla_build_info\\{.*process="${number}"\\} 1$`, 'm'))
    const children = childrenOf(gateway.pid)
    const { code, stderr } = await gateway.signal('SIGINT')
    expect([code, children.filter(isAlive)]).toEqual([0, []])
    expect(stderr).not.toContain('did not stop in time')
  })

  test('end with their parent, when that is killed', async () => {
    const cluster = await aCluster()
    const gateway = await aGateway(cluster, { args: ['--processes', '2'] })
    const children = childrenOf(gateway.pid)
    process.kill(gateway.pid, 'SIGKILL')
    await until(() => !children.some(isAlive))
    const again = await aGateway(cluster, { data: gateway.data, args: ['--processes', '2'] })
    expect(await answers(again)).toBe(true)
  })

  test('end when only the parent is told to', async () => {
    const cluster = await aCluster()
    const gateway = await aGateway(cluster, { args: ['--processes', '3'] })
    const children = childrenOf(gateway.pid)
    process.kill(gateway.pid, 'SIGTERM')
    await until(() => ![gateway.pid, ...children].some(isAlive))
    expect(children).toHaveLength(3)
  })
})

describe('on NATS', () => {
  async function aNats() {
    const accounts = natsAccounts()
    const nats = await startNatsServer({ accounts })
    onTestFinished(() => nats.stop())
    const seedFile = join(tempFolder(), 'account.seed')
    writeFileSync(seedFile, `${accounts.seed}\n`, { mode: 0o600 })
    return ['--nats-url', nats.url, '--nats-account-seed-file', seedFile]
  }

  test('with accounts it gets a user of its own from the frontend', async () => {
    const cluster = await aCluster(...(await aNats()))
    const gateway = await aGateway(cluster)
    expect(await answers(gateway)).toBe(true)
    await cluster.model('late', 1)
    await until(() => answers(gateway, 'late'))
  })

  test('it needs no frontend where it is told of the bus', async () => {
    const bus = await aNats()
    const cluster = await aCluster(...bus)
    const gateway = await startGatewayProcess({ args: bus })
    expect(await answers(gateway)).toBe(true)
    await cluster.frontend.signal('SIGKILL')
    expect(await answers(gateway)).toBe(true)
    expect(await readyz(gateway)).toMatchObject({ code: 200 })
  })
})
