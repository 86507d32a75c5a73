import { expect, onTestFinished, test } from 'vitest'
import type { ReplicaView } from '../src/api/admin/schemas.ts'
import { Cluster, PACE } from './support/cluster.ts'
import { enginesOf, startFrontend, type Flotilla, type WorkerProcess } from './support/flotilla.ts'
import { startNatsServer } from './support/bus/nats-server.ts'
import { createTestDatabase, type TestDatabase } from './support/postgres/postgres.ts'
import { replicaEvents } from './support/store/stored-rows.ts'
import { isAlive, until } from './support/until.ts'

/** Loads slowly enough to be looked at meanwhile, and then takes all who have waited. */
const COLD = { load_ms: 4000, ttft_ms: 0, tokens_per_s: 0, parallel: 64, queue: 4096 }
const MANY = 1000

interface Ground {
  database: TestDatabase
  frontends: [Flotilla, Flotilla]
  /** Asks the frontend that leads when it begins. */
  cluster: Cluster
  workers: WorkerProcess[]
}

/** Two frontends on PostgreSQL and NATS, two workers, and a model that nobody has asked for yet. */
async function twoFrontends(): Promise<Ground> {
  const database = await createTestDatabase()
  onTestFinished(() => database.drop())
  const nats = await startNatsServer({ limits: {} })
  onTestFinished(() => nats.stop())
  const servers = ['--database-url', database.url, '--nats-url', nats.url]
  const args = [...PACE, ...servers, '--auto-approve', '--expose-node-header', '--model-load-wait', '100']
  const first = await startFrontend({ args })
  const second = await startFrontend({ args })
  await until(() => second.stderr().includes('another frontend leads'))
  const cluster = new Cluster(first, args)
  const workers = ['a', 'b'].map((name) => cluster.worker(name, { join: `${first.url},${second.url}` }))
  for (const { name } of workers) await cluster.isHealthy(name)
  await cluster.ask('POST', '/api/models', { name: 'cold', engine: 'sim', options: COLD })
  for (const { url } of [first, second])
    await until(async () => (await (await fetch(`${url}/v1/models`)).text()).includes('"cold"'))
  return { database, frontends: [first, second], cluster, workers }
}

interface Answer {
  status: number
  replica: string | null
  text: string
}

function ask(urls: readonly string[], count: number): Promise<Answer[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const response = await fetch(`${urls[i % urls.length]}/v1/chat/completions`, {
        method: 'POST',
        body: JSON.stringify({ model: 'cold', max_tokens: 3, messages: [{ role: 'user', content: `Hello ${i}` }] }),
      })
      const { status, headers } = response
      return { status, replica: headers.get('x-flotilla-replica'), text: await response.text() }
    }),
  )
}

function expectServed(answers: readonly Answer[], replicaId: string): void {
  const others = answers.filter(({ status, replica }) => status !== 200 || replica !== replicaId)
  expect(others.slice(0, 3)).toEqual([])
  expect(answers.every(({ text }) => text.includes('"chat.completion"'))).toBe(true)
}

/** The worker whose engine is loading, and its replica. */
async function midLoad({ cluster, workers }: Ground): Promise<{ worker: WorkerProcess; replica: ReplicaView }> {
  let replica: ReplicaView | undefined
  await until(async () => {
    ;[replica] = await cluster.ask<ReplicaView[]>('GET', '/api/replicas')
    return replica?.state === 'loading' && workers.some(({ data }) => enginesOf(data).length > 0)
  })
  return { worker: workers.find(({ data }) => enginesOf(data).length > 0)!, replica: replica! }
}

async function placedOf({ database }: Ground): Promise<number> {
  const events = await replicaEvents(database, 'cold')
  return events.filter(({ action }) => action === 'placed').length
}

test('1,000 first requests through two frontends are one load, and all of them are answered', async () => {
  const ground = await twoFrontends()
  const answers = await ask(
    ground.frontends.map(({ url }) => url),
    MANY,
  )
  const [replica, ...others] = await ground.cluster.ask<ReplicaView[]>('GET', '/api/replicas')
  expect(others).toEqual([])
  expectServed(answers, replica!.id)
  expect(await replicaEvents(ground.database, 'cold')).toMatchObject([{ action: 'placed' }, { action: 'ready' }])
  expect(ground.workers.flatMap(({ data }) => enginesOf(data))).toHaveLength(1)
})

test('the node dies while it loads: one more load elsewhere, and all 1,000 are answered', async () => {
  const ground = await twoFrontends()
  const asked = ask(
    ground.frontends.map(({ url }) => url),
    MANY,
  )
  const { worker, replica: lost } = await midLoad(ground)
  const engines = enginesOf(worker.data)
  await worker.signal('SIGKILL')
  for (const pid of engines) process.kill(-pid, 'SIGKILL')

  const answers = await asked
  const [replica, ...others] = await ground.cluster.ready('cold')
  expect(others).toEqual([])
  expect(replica!.node_id).not.toBe(lost.node_id)
  expectServed(answers, replica!.id)
  expect((await replicaEvents(ground.database, 'cold')).map(({ action }) => action)).toEqual([
    'placed',
    'lost',
    'placed',
    'ready',
  ])
})

test('the frontend that leads dies during a load: the load goes on, and who waits at the other is served', async () => {
  const ground = await twoFrontends()
  const [leader, other] = ground.frontends
  const asked = ask([other.url], 50)
  const { worker, replica } = await midLoad(ground)
  const engines = enginesOf(worker.data)
  await leader.signal('SIGKILL')
  const answers = await asked
  expectServed(answers, replica.id)
  expect(enginesOf(worker.data)).toEqual(engines)
  expect(engines.every(isAlive)).toBe(true)
  expect(await placedOf(ground)).toBe(1)
})
