import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Cluster, PACE } from './support/cluster.ts'
import { freePort } from './support/http/free-port.ts'
import { enginesOf, runFlotilla, startFrontend, startWorkerProcess } from './support/flotilla.ts'
import { onEmbedded, onServers } from './support/grounds.ts'
import { tempFolder } from './support/temp-folder.ts'
import { isAlive, until } from './support/until.ts'

const SLOW = { ttft_ms: 0, tokens_per_s: 20 }

describe.each([
  ['SQLite and the embedded bus', onEmbedded],
  ['PostgreSQL and a NATS server with accounts', onServers],
])('a cluster on %s', (_, prepare) => {
  async function aCluster(...args: string[]) {
    const ground = await prepare()
    return Object.assign(await Cluster.start(...ground.args, ...args), { ground })
  }

  test('nodes wait for approval, and then run replicas that answer', async () => {
    const cluster = await aCluster()
    const names = ['a', 'b', 'c']
    const workers = names.map((name) => cluster.worker(name, { args: ['--node-labels', `place=${name} 架,zone=1`] }))
    for (const name of names) await cluster.has(name, 'pending')
    await cluster.ask('POST', '/api/models', { name: 'm', engine: 'sim', options: { ttft_ms: 0, tokens_per_s: 0 } })
    await cluster.ask('POST', '/api/nodes/scheduling', { model_name: 'm', min_replicas: 3 })
    for (const worker of workers) {
      await until(() => worker.stderr().includes(`flotilla nodes approve ${worker.name}`))
    }
    expect(await cluster.ask('GET', '/api/replicas')).toEqual([])

    for (const name of names) {
      const { id, labels } = (await cluster.node(name))!
      expect(labels).toMatchObject({ place: `${name} 架`, zone: '1', 'node.name': name })
      await cluster.ask('POST', `/api/nodes/${id}/approve`)
    }
    await until(async () => (await cluster.places('m')).join() === 'a,b,c')
    await until(() => cluster.answers('m'))
    for (const worker of workers) expect(worker.stderr().match(/waiting for approval/g), worker.name).toHaveLength(1)
    expect((await cluster.node('a'))!.total_ram).toBeGreaterThan(0)
  })

  test('a worker that restarts is the same node, and still approved', async () => {
    const cluster = await aCluster()
    const worker = cluster.worker('a')
    await cluster.has('a', 'pending')
    const { id } = (await cluster.node('a'))!
    await cluster.ask('POST', `/api/nodes/${id}/approve`)
    await cluster.isHealthy('a')
    expect((await worker.signal('SIGTERM')).code).toBe(0)
    await cluster.has('a', 'offline')
    cluster.worker('a', { data: worker.data, args: ['--node-labels', 'zone=2'] })
    await cluster.isHealthy('a')
    expect(await cluster.node('a')).toMatchObject({ id, approved: true, labels: { zone: '2' } })
    expect(await cluster.ask('GET', '/api/nodes')).toHaveLength(1)
  })

  test('what a killed worker ran is replaced elsewhere', async () => {
    const cluster = await aCluster('--auto-approve')
    const workers = await cluster.members('a', 'b', 'c')
    await cluster.model('m', 2)
    const [lost, kept] = await cluster.places('m')
    const worker = workers.find(({ name }) => name === lost)!
    expect(enginesOf(worker.data)).toHaveLength(1)
    await worker.signal('SIGKILL')
    await cluster.has(lost!, 'offline')
    const other = workers.find(({ name }) => name !== lost && name !== kept)!.name
    await until(async () => (await cluster.places('m')).join() === [kept!, other].toSorted().join())
    await until(() => cluster.answers('m'))
  })

  test('a drained node finishes what it has and gets nothing new, until it is resumed', async () => {
    const cluster = await aCluster('--auto-approve')
    await cluster.members('a', 'b')
    await cluster.model('m', 1, SLOW)
    const [name] = await cluster.places('m')
    const other = name === 'a' ? 'b' : 'a'
    const { id } = (await cluster.node(name!))!
    const inFlight = async (of: string) => (await cluster.node(of))!.in_flight_count
    const running = await cluster.chat('m')
    await until(async () => (await inFlight(name!)) === 1)

    expect(await cluster.ask('POST', `/api/nodes/${id}/drain`)).toMatchObject({ status: 'draining' })
    await until(async () => (await cluster.places('m')).includes(other))
    await until(async () => {
      const next = await cluster.chat('m')
      if (!next.ok) return false
      await until(async () => (await inFlight(other)) > 0)
      await next.body?.cancel()
      return true
    })
    expect(await running.text()).toContain('[DONE]')
    await until(async () => (await inFlight(name!)) === 0)
    expect(await cluster.node(name!)).toMatchObject({ status: 'draining' })
    expect(await cluster.ask('POST', `/api/nodes/${id}/resume`)).toMatchObject({ desired: 'active' })
    await cluster.isHealthy(name!)
  })

  test('a removed node is told, stops what it runs, and nothing of it remains', async () => {
    const cluster = await aCluster('--auto-approve')
    const [worker] = await cluster.members('a')
    await cluster.model('m', 1)
    const { id } = (await cluster.node('a'))!
    const engines = enginesOf(worker!.data)
    expect(engines).toHaveLength(1)
    expect(await cluster.ask('DELETE', `/api/nodes/${id}`)).toEqual({ deleted: id })
    const { code, stderr } = await worker!.ended
    expect(code).toBe(3)
    expect(stderr).toMatch(/^flotilla: The node a was removed from the cluster; its replicas have been stopped\./m)
    expect(engines.filter(isAlive)).toEqual([])
    for (const [table, column] of [
      ['nodes', 'id'],
      ['node_labels', 'node_id'],
      ['replicas', 'node_id'],
    ]) {
      const rows = await cluster.ground.rows(cluster.frontend.data, `select * from ${table} where ${column} = '${id}'`)
      expect(rows, table).toEqual([])
    }
  })

  test('a pending node that is removed ends, too', async () => {
    const cluster = await aCluster()
    const worker = cluster.worker('a')
    await cluster.has('a', 'pending')
    await cluster.ask('DELETE', `/api/nodes/${(await cluster.node('a'))!.id}`)
    expect((await worker.ended).code).toBe(3)
  })

  test('who cannot join is told why in one line, with exit code 2', async () => {
    const cluster = await aCluster('--auto-approve')
    await cluster.members('a')
    const first = (await cluster.node('a'))!.public_key
    const namesake = await cluster.worker('a').ended
    expect(namesake.code).toBe(2)
    expect(namesake.stderr).toContain(first)
    expect(namesake.stderr).toMatch(
      /^flotilla: .*Another node is called "a" already \(key U\w{55}, yours is U\w{55}\).*\n$/,
    )
    const wrong = await cluster.worker('b', { token: 'flj_wrong' }).ended
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toMatch(/^flotilla: [^\n]*The join token is wrong[^\n]*\n$/)
    expect(await cluster.ask('GET', '/api/nodes')).toHaveLength(1)
  })

  test('a frontend that is killed and comes back finds its workers, and their engines never noticed', async () => {
    // An embedded bus comes back at another address; workers ask for it after 5 s.
    const cluster = await aCluster('--auto-approve', '--offline-after-ms', '15000')
    const workers = await cluster.members('a', 'b')
    await cluster.model('m', 2)
    const engines = workers.map(({ data }) => enginesOf(data))
    const before = await cluster.ready('m')
    await cluster.frontend.signal('SIGKILL')
    const killedMs = Date.now()
    await cluster.restart()
    await until(() => cluster.answers('m'))
    for (const { name } of workers) {
      await until(async () => (await cluster.node(name))!.last_heartbeat! > killedMs)
      await cluster.isHealthy(name)
    }
    await cluster.model('second', 2)
    // The engines of then, and one more each.
    const now = workers.map(({ data }) => enginesOf(data))
    expect(now.map((pids) => pids.length)).toEqual([2, 2])
    expect(now.map((pids, i) => pids.includes(engines[i]![0]!))).toEqual([true, true])
    expect((await cluster.ready('m')).map(({ id }) => id).toSorted()).toEqual(before.map(({ id }) => id).toSorted())
  })

  test('a worker that is told to end lets running answers finish, and says goodbye', async () => {
    const cluster = await aCluster('--auto-approve')
    const [worker] = await cluster.members('a')
    await cluster.model('m', 1, SLOW)
    const running = await cluster.chat('m')
    const ended = worker!.signal('SIGTERM')
    // Meanwhile it goes on to tell what it does.
    await until(async () => (await cluster.node('a'))!.in_flight_count === 1)
    expect(await running.text()).toContain('[DONE]')
    expect((await ended).code).toBe(0)
    expect(await cluster.node('a')).toMatchObject({ status: 'offline', liveness: 'offline' })
  })

  test('an agent takes part and runs nothing', async () => {
    const cluster = await aCluster('--auto-approve')
    cluster.worker('agent', { args: ['--node-type', 'agent'] })
    await cluster.isHealthy('agent')
    await cluster.ask('POST', '/api/models', { name: 'm', engine: 'sim', options: {} })
    await cluster.ask('POST', '/api/nodes/scheduling', { model_name: 'm', min_replicas: 1 })
    const { id, last_heartbeat: heardMs } = (await cluster.node('agent'))!
    await until(async () => (await cluster.node('agent'))!.last_heartbeat! > heardMs! + 3000)
    expect(await cluster.ask('GET', '/api/replicas')).toEqual([])
    expect(await cluster.ask('GET', `/api/nodes/${id}/backends`)).toEqual([])
  })
})

test('of two frontends either may go: the other leads, and the worker that joined through the first stays', async () => {
  const ground = await onServers()
  const args = [...ground.args, ...PACE, '--auto-approve']
  const [one, two] = [await startFrontend({ args }), await startFrontend({ args })]
  const cluster = new Cluster(one, args)
  const worker = cluster.worker('a', { join: `${one.url},${two.url}` })
  await cluster.isHealthy('a')
  await cluster.model('m', 1)
  const engines = enginesOf(worker.data)
  const second = new Cluster(two, args)
  await until(() => second.answers('m'))
  await one.signal('SIGKILL')
  // Only a leader records heartbeats, and only a leader has something started.
  await second.model('later', 1)
  await until(() => second.answers('m'))
  expect(enginesOf(worker.data)).toContain(engines[0])
})

test('the only engine of a model dies with requests that it has not begun to answer: the next one answers them', async () => {
  const cluster = await Cluster.start('--auto-approve')
  const [worker] = await cluster.members('a')
  await cluster.model('m', 1, { ttft_ms: 3000, tokens_per_s: 0, parallel: 2 })
  const engines = enginesOf(worker!.data)
  const body = JSON.stringify({ model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }] })
  const plain = fetch(`${cluster.frontend.url}/v1/chat/completions`, { method: 'POST', body })
  const streamed = cluster.answers('m')
  await until(async () => (await cluster.ready('m')).some(({ in_flight: inFlight }) => inFlight === 2))
  process.kill(-engines[0]!, 'SIGKILL')
  expect(await (await plain).json()).toMatchObject({ choices: [{ finish_reason: 'length' }] })
  expect(await streamed).toBe(true)
  expect(enginesOf(worker!.data)).not.toContain(engines[0])
})

test('a worker may start before its frontend: it says so and joins when there is one', async () => {
  const port = await freePort()
  const tokenFile = join(tempFolder(), 'join.token')
  writeFileSync(tokenFile, 'flj_chosen_by_the_operator_beforehand\n')
  const join1 = `http://127.0.0.1:1,http://127.0.0.1:${port}`
  const worker = startWorkerProcess({ join: join1, tokenFile, name: 'early' })
  await until(() => worker.stderr().includes('cannot register now; trying again'))
  const data = tempFolder()
  writeFileSync(join(data, 'join.token'), readFileSync(tokenFile))
  const frontend = await startFrontend({ data, listen: `127.0.0.1:${port}`, args: ['--auto-approve'] })
  await until(async () => JSON.stringify((await frontend.admin('GET', '/api/nodes')).body).includes('"healthy"'))
  expect(worker.stderr()).toContain('a frontend answers again')
})

test('with another secret of the cluster nodes get new data keys, and serve again', async () => {
  const cluster = await Cluster.start('--auto-approve')
  await cluster.members('a')
  await cluster.model('m', 1)
  const keyOf = (): string => readFileSync(join(cluster.frontend.data, 'cluster.secret'), 'utf8')
  const old = keyOf()
  const refused = await runFlotilla(['db', 'rotate-secret', '--data', cluster.frontend.data])
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('is in use by another Flotilla') })
  await cluster.frontend.signal('SIGTERM')
  expect(await runFlotilla(['db', 'rotate-secret', '--data', cluster.frontend.data])).toMatchObject({ code: 0 })
  expect(keyOf()).not.toBe(old)
  await cluster.restart()
  await until(() => cluster.answers('m'), 60_000)
}, 120_000)
