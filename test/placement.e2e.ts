import { describe, expect, onTestFinished, test } from 'vitest'
import type { ModelExplanation, ModelSaved } from '../src/api/admin/model-schemas.ts'
import type { ReplicaView } from '../src/api/admin/schemas.ts'
import { Cluster, PACE } from './support/cluster.ts'
import { enginesOf, runFlotilla, startUp } from './support/flotilla.ts'
import { replicaEvents, storedRows } from './support/store/stored-rows.ts'
import { until } from './support/until.ts'

const GIB = 2 ** 30
const FAST = { ttft_ms: 0, tokens_per_s: 0 }

/** One machine that is all of the cluster, as `flotilla up` makes it, with the simulated model that comes with it. */
async function aMachine(args: string[], env: Record<string, string> = {}): Promise<Cluster> {
  const up = await startUp({ args: [...PACE, '--node-name', 'thor', '--expose-node-header', ...args], env })
  return new Cluster(up, [])
}

/** Pretended GPUs, as many as there are sizes. */
function cards(...devices: { name: string; total: number; usable?: number }[]): Record<string, string> {
  const list = devices.map(({ name, total, usable = total }) => ({
    name,
    total_vram: total * GIB,
    usable_vram: usable * GIB,
  }))
  return { FLOTILLA_FAKE_DEVICES: JSON.stringify(list) }
}

/** Resolves when the gateway knows it. */
async function addModel(cluster: Cluster, name: string, options: object = {}): Promise<void> {
  await cluster.ask('POST', '/api/models', { name, engine: 'sim', options: { ...FAST, ...options } })
  await until(async () => (await fetch(`${cluster.frontend.url}/v1/models/${name}`)).ok)
}

const wantTwo = (cluster: Cluster): Promise<unknown> =>
  cluster.ask('POST', '/api/nodes/scheduling', { model_name: 'm', min_replicas: 2 })

/** Lets control look at the world again and again: every turn renews its lease. */
async function turns(cluster: Cluster, count: number): Promise<void> {
  const expiry = async (): Promise<unknown> =>
    (await storedRows(cluster.frontend.data, `select expires_at from leases where name = 'leader'`))[0]?.['expires_at']
  for (let i = 0; i < count; i += 1) {
    const before = await expiry()
    await wantTwo(cluster)
    await until(async () => (await expiry()) !== before)
  }
}

const slots = ({ id, generation, node_id, replica_index }: ReplicaView) => ({ id, generation, node_id, replica_index })

async function actions(cluster: Cluster, model: string): Promise<string[]> {
  return (await replicaEvents(cluster.frontend.data, model)).map(({ action }) => action)
}

const explain = (cluster: Cluster, model: string): Promise<ModelExplanation> =>
  cluster.ask('GET', `/api/models/${model}/explain`)

async function why(cluster: Cluster, model: string): Promise<string> {
  const { code, stdout, stderr } = await runFlotilla(['why', model, '--data', cluster.frontend.data])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

interface ErrorBody {
  error: { code: string; message: string }
  loading?: Record<string, unknown>
}

/** A refusal that time may cure: it says when to come back. */
async function refusalOf(response: Response): Promise<ErrorBody> {
  expect([response.status, response.headers.get('x-should-retry')]).toEqual([503, null])
  const retryAfter = Number(response.headers.get('retry-after'))
  expect(retryAfter).toBeGreaterThanOrEqual(5)
  expect(retryAfter).toBeLessThanOrEqual(300)
  return (await response.json()) as ErrorBody
}

/** A refusal that no waiting cures: official clients stop at once. */
async function finalRefusalOf(response: Response): Promise<ErrorBody> {
  const headers = ['retry-after', 'x-should-retry'].map((name) => response.headers.get(name))
  expect([response.status, ...headers]).toEqual([503, null, 'false'])
  return (await response.json()) as ErrorBody
}

describe('one node and a rule that asks for two replicas', () => {
  test('with two slots there are two processes, and 20 turns change nothing', async () => {
    const cluster = await aMachine(['--max-replicas-per-model', '2'])
    await addModel(cluster, 'm')
    await wantTwo(cluster)
    await until(async () => (await cluster.ready('m')).length === 2)
    const [engines, replicas] = [enginesOf(cluster.frontend.data), await cluster.ready('m')]
    await turns(cluster, 20)
    expect(enginesOf(cluster.frontend.data)).toEqual(engines)
    // These two and that of the model that comes with a new cluster.
    expect(engines).toHaveLength(3)
    expect((await cluster.ready('m')).map(slots)).toEqual(replicas.map(slots))
    expect((await actions(cluster, 'm')).toSorted()).toEqual(['placed', 'placed', 'ready', 'ready'])
  })

  test('with one slot there is one process, a reason for it, and no attempt at a second', async () => {
    const cluster = await aMachine(['--max-replicas-per-model', '1'])
    await addModel(cluster, 'm')
    await wantTwo(cluster)
    await until(async () => (await cluster.ready('m')).length === 1)
    const [engines, replicas] = [enginesOf(cluster.frontend.data), await cluster.ready('m')]
    await turns(cluster, 20)
    expect(enginesOf(cluster.frontend.data)).toEqual(engines)
    expect((await cluster.ready('m')).map(slots)).toEqual(replicas.map(slots))
    expect(await actions(cluster, 'm')).toEqual(['placed', 'ready'])

    expect(await explain(cluster, 'm')).toMatchObject({
      status: { state: 'ready' },
      wanted: { min: 2 },
      nodes: [{ node_name: 'thor', refusal: { filter: 'slot', needed: 2, available: 1 } }],
      next: null,
      advice: ['raise the slots of thor to 2'],
    })
    const text = await why(cluster, 'm')
    expect(text).toMatch(/thor +no: slot/)
    expect(text).toContain('raise the slots of thor to 2')
  })
})

test('one card for two models: what is in use stays, what is idle makes room, and what can never fit is told so', async () => {
  const cluster = await aMachine(['--model-load-wait', '6'], cards({ name: 'Card', total: 24 }))
  await addModel(cluster, 'a', { memory_bytes: 16 * GIB, tokens_per_s: 2 })
  await addModel(cluster, 'b', { memory_bytes: 16 * GIB })
  await addModel(cluster, 'huge', { memory_bytes: 40 * GIB })
  const running = await cluster.chat('a')
  onTestFinished(() => running.body?.cancel().catch(() => {}))
  expect(running.status).toBe(200)
  const [ofA] = await cluster.ready('a')

  const refused = await refusalOf(await cluster.chat('b'))
  expect(refused).toMatchObject({
    error: { code: 'model_loading' },
    loading: { model: 'b', state: 'waiting', node: null },
  })
  expect(refused.error.message).toContain('in use')
  expect(await explain(cluster, 'b')).toMatchObject({
    status: { state: 'waiting' },
    nodes: [{ refusal: { filter: 'memory', needed: 16 * GIB, available: 8 * GIB, where: 'gpu 0' } }],
  })
  expect((await cluster.ready('a')).map(slots)).toEqual([ofA!].map(slots))

  await running.body?.cancel()
  await until(() => cluster.answers('b'), 50_000)
  expect(await actions(cluster, 'a')).toEqual(['placed', 'ready', 'evicted'])
  // It was not started before the memory was free: it would have failed.
  expect(await actions(cluster, 'b')).toEqual(['placed', 'ready'])
  expect(await cluster.ready('b')).toMatchObject([{ claim: { devices: [{ index: 0, bytes: 16 * GIB }] } }])

  const never = await finalRefusalOf(await cluster.chat('huge'))
  expect(never.error.code).toBe('no_capacity')
  expect(never.error.message).toMatch(/40\.0 GiB/)
  expect(await actions(cluster, 'huge')).toEqual([])
}, 120_000)

test('an edited model is replaced while requests go on, and never serves as it was once it has served anew', async () => {
  const cluster = await aMachine(['--max-replicas-per-model', '2'])
  await addModel(cluster, 'm')
  await wantTwo(cluster)
  await until(async () => (await cluster.ready('m')).length === 2)
  const old = new Set((await cluster.ready('m')).map(({ id }) => id))
  const served: { isOld: boolean; status: number }[] = []
  const askOnce = async (): Promise<void> => {
    const response = await cluster.chat('m')
    await response.text()
    served.push({ isOld: old.has(response.headers.get('x-flotilla-replica') ?? ''), status: response.status })
  }
  await until(async () => {
    await askOnce()
    return served.length >= 5
  })
  const change = { engine: 'sim', options: { ...FAST, seed: 7 } }
  const saved = await cluster.ask<ModelSaved>('PUT', '/api/models/m', change)
  expect(saved.effect).toMatchObject({ is_changed: true, replaced: 2 })
  await until(async () => {
    await askOnce()
    const now = await cluster.ready('m')
    return now.length === 2 && now.every(({ id, revision }) => !old.has(id) && revision === saved.revision)
  }, 180_000)
  for (let i = 0; i < 5; i += 1) await askOnce()

  expect(served.filter(({ status }) => status !== 200)).toEqual([])
  const firstNew = served.findIndex(({ isOld }) => !isOld)
  expect(served.slice(0, firstNew).every(({ isOld }) => isOld)).toBe(true)
  expect(served.slice(firstNew).some(({ isOld }) => isOld)).toBe(false)
  expect((await cluster.ask<ModelSaved>('PUT', '/api/models/m', change)).effect).toMatchObject({ is_changed: false })
})

describe('a load that does not come to its end', () => {
  test('tells all who wait why it failed, with what its engine said last', async () => {
    const cluster = await aMachine([])
    await addModel(cluster, 'broken', { load_ms: 500, context: 1 })
    const answers = await Promise.all(Array.from({ length: 20 }, () => cluster.chat('broken')))
    for (const answer of answers) {
      const { error } = await refusalOf(answer)
      expect(error.code).toBe('model_load_failed')
      expect(error.message).toContain('--context takes a whole number from 2')
    }
    const failure = (await replicaEvents(cluster.frontend.data, 'broken')).find(({ action }) => action === 'failed')
    expect(failure?.reason).toContain('--context takes a whole number from 2')
  })

  test('is told how far it is when the time is up, and from the command line until it is there', async () => {
    const cluster = await aMachine(['--model-load-wait', '4'])
    await addModel(cluster, 'slow', { load_ms: 12_000 })
    const { error, loading } = await refusalOf(await cluster.chat('slow'))
    expect(error.code).toBe('model_loading')
    expect(loading).toMatchObject({ model: 'slow', state: 'loading', node: 'thor' })
    for (const field of ['progress', 'bytes_sent', 'total_bytes', 'file_index', 'total_files'])
      expect(loading?.[field], field).toBeTypeOf('number')
    expect(await why(cluster, 'slow')).toMatch(/slow +loading/)
    const load = await runFlotilla(['models', 'load', 'slow', '--wait', '--data', cluster.frontend.data])
    expect(load).toMatchObject({ code: 0, stdout: 'slow is ready.\n' })
    expect(await cluster.answers('slow')).toBe(true)
    expect(await actions(cluster, 'slow')).toEqual(['placed', 'ready'])
  })

  test('for want of memory is tried elsewhere, and the need is learned', async () => {
    const cluster = await Cluster.start('--auto-approve', '--expose-node-header')
    // Roomier, as it says: it is taken first.
    cluster.worker('liar', { env: cards({ name: 'Liar 48', total: 48, usable: 10 }) })
    cluster.worker('honest', { env: cards({ name: 'Honest 24', total: 24 }) })
    for (const name of ['liar', 'honest']) await cluster.isHealthy(name)
    await addModel(cluster, 'm', { memory_bytes: 16 * GIB })
    const response = await cluster.chat('m')
    expect(await response.text()).toContain('[DONE]')
    expect(response.headers.get('x-flotilla-node')).toBe('honest')
    const events = await replicaEvents(cluster.frontend.data, 'm')
    expect(events.map(({ action }) => action)).toEqual(['placed', 'failed', 'placed', 'ready'])
    expect(events[1]!.reason).toContain('ran out of memory')
    const { memory } = await explain(cluster, 'm')
    const onLiar = memory.find(({ device_kind: kind }) => kind === 'Liar 48')!
    expect(onLiar.source).toBe('learned')
    expect(onLiar.vram).toBeGreaterThan(16 * GIB)
  })
})
