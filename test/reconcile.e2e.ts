import { describe, expect, onTestFinished, test } from 'vitest'
import type { RuleView } from '../src/api/admin/rule-schemas.ts'
import type { NodeView, ReplicaView } from '../src/api/admin/schemas.ts'
import { Cluster, PACE } from './support/cluster.ts'
import { enginesOf, runFlotilla, startFrontend, type Flotilla, type WorkerProcess } from './support/flotilla.ts'
import { onEmbedded, onServers, type Ground } from './support/grounds.ts'
import { until } from './support/until.ts'

const RULES = '/api/nodes/scheduling'
const FAST = { ttft_ms: 0, tokens_per_s: 0 }
/** Room for more than one replica of a model on each node. */
const TWO_SLOTS = ['--max-replicas-per-model', '2']
/** For what takes a lease, a silence or several passes, on a machine that has other things to do as well. */
const PATIENCE_MS = 60_000

interface Happened {
  action: string
  atMs: number
  reason: string
}

/** A cluster, and the events of its store. */
class Stage extends Cluster {
  readonly ground: Ground

  constructor(ground: Ground, frontend: Flotilla, args: string[]) {
    super(frontend, args)
    this.ground = ground
  }

  static async on(prepare: () => Promise<Ground>, ...args: string[]): Promise<Stage> {
    const ground = await prepare()
    const all = [...PACE, '--auto-approve', ...ground.args, ...args]
    return new Stage(ground, await startFrontend({ args: all }), all)
  }

  async events(actions: readonly string[]): Promise<Happened[]> {
    const list = actions.map((action) => `'${action}'`).join()
    const sql = `select action, at, reason from events where action in (${list}) order by id`
    const rows = await this.ground.rows(this.frontend.data, sql)
    return rows.map(({ action, at, reason }) => ({ action: String(action), atMs: Number(at), reason: String(reason) }))
  }

  async workers(names: string[], args: string[] = []): Promise<WorkerProcess[]> {
    const workers = names.map((name) => this.worker(name, { args }))
    for (const name of names) await this.isHealthy(name)
    return workers
  }

  addModel(name: string, options: object = {}): Promise<unknown> {
    return this.ask('POST', '/api/models', { name, engine: 'sim', options: { ...FAST, ...options } })
  }

  rule(fields: object, name = 'm'): Promise<RuleView> {
    return this.ask('POST', RULES, { model_name: name, ...fields })
  }

  async label(name: string, labels: Record<string, string>): Promise<void> {
    await this.ask('PATCH', `/api/nodes/${(await this.node(name))!.id}/labels`, labels)
  }

  /** Where its replicas are, ready or not, as `a ready`. */
  async states(model = 'm'): Promise<string[]> {
    const [nodes, replicas] = [
      await this.ask<NodeView[]>('GET', '/api/nodes'),
      await this.ask<ReplicaView[]>('GET', '/api/replicas'),
    ]
    const mine = replicas.filter(({ model_name: of }) => of === model)
    return mine.map(({ node_id: id, state }) => `${nodes.find((node) => node.id === id)?.name} ${state}`).toSorted()
  }

  /** These and no others, all of them ready. */
  async isOn(...names: string[]): Promise<void> {
    const wanted = names.map((name) => `${name} ready`).join()
    await until(async () => (await this.states()).join() === wanted, PATIENCE_MS)
  }
}

/** As a machine that loses its power. */
async function cutPower(...workers: WorkerProcess[]): Promise<void> {
  const engines = workers.flatMap(({ data }) => enginesOf(data))
  await Promise.all(workers.map((worker) => worker.signal('SIGKILL')))
  for (const pid of engines) process.kill(-pid, 'SIGKILL')
}

describe.each([
  ['SQLite and the embedded bus', onEmbedded],
  ['PostgreSQL and a NATS server', onServers],
])('rules on %s', (_, prepare) => {
  test('a rule without room is told once and met when machines come; what a dead one had is soon elsewhere', async () => {
    const stage = await Stage.on(prepare)
    await stage.addModel('m')
    await stage.rule({ min_replicas: 1 })
    const told = () => stage.events(['rule.unsatisfiable', 'rule.satisfiable'])
    await until(async () => (await told()).length === 1, PATIENCE_MS)
    expect((await told())[0]!.reason).toContain('There are no nodes')

    const workers = await stage.workers(['a', 'b'])
    await until(async () => (await stage.ready('m')).length === 1)
    expect((await told()).map(({ action }) => action)).toEqual(['rule.unsatisfiable', 'rule.satisfiable'])
    const [online] = await stage.events(['node.online'])
    const [placed] = await stage.events(['replica.placed'])
    expect(placed!.atMs).toBeGreaterThanOrEqual(online!.atMs)

    const [place] = await stage.places('m')
    await cutPower(workers.find(({ name }) => name === place)!)
    await stage.isOn(place === 'a' ? 'b' : 'a')
    const [offline] = await stage.events(['node.offline'])
    const after = (await stage.events(['replica.placed'])).at(-1)!
    expect(after.atMs).toBeGreaterThanOrEqual(offline!.atMs)
  }, 240_000)

  test('after everything was dead, the minimum is there again without any request', async () => {
    const stage = await Stage.on(prepare)
    const [worker] = await stage.workers(['a'], TWO_SLOTS)
    await stage.addModel('m')
    await stage.rule({ min_replicas: 2 })
    await stage.isOn('a', 'a')
    const before = new Set((await stage.ready('m')).map(({ id }) => id))
    await stage.frontend.signal('SIGKILL')
    await cutPower(worker!)
    await stage.restart()
    stage.worker('a', { data: worker!.data, args: TWO_SLOTS })
    await until(async () => {
      const now = await stage.ready('m')
      return now.length === 2 && now.every(({ id }) => !before.has(id))
    }, PATIENCE_MS)
    expect(enginesOf(worker!.data)).toHaveLength(2)
  }, 240_000)

  test('one on each node follows joins, leaves, labels, drains and edits; a count is kept through a label that flips', async () => {
    const stage = await Stage.on(prepare)
    const [, b] = await stage.workers(['a', 'b'], TWO_SLOTS)
    await stage.addModel('m', { load_ms: 700 })
    await stage.rule({ spread_all: true, node_selector: { tier: '!slow' } })
    await stage.isOn('a', 'b')
    await stage.workers(['c'], TWO_SLOTS)
    await stage.isOn('a', 'b', 'c')
    expect((await b!.signal('SIGTERM')).code).toBe(0)
    await stage.isOn('a', 'c')
    const c = (await stage.node('c'))!
    await stage.ask('POST', `/api/nodes/${c.id}/drain`)
    await until(async () => (await rule()).wanted === 1)
    await stage.ask('POST', `/api/nodes/${c.id}/resume`)
    await until(async () => (await rule()).wanted === 2)
    await stage.label('a', { tier: 'slow' })
    await stage.isOn('c')

    await stage.rule({ min_replicas: 1, max_replicas: 1, node_selector: { tier: 'slow' } })
    await stage.isOn('a')
    await stage.label('c', { tier: 'slow' })
    await stage.label('a', { tier: 'fast' })
    const seen: string[][] = []
    await until(async () => {
      seen.push(await stage.states())
      return seen.at(-1)!.join() === 'c ready'
    })
    const hasLeft = seen.filter((states) => !states.includes('a ready'))
    expect(hasLeft.every((states) => states.includes('c ready'))).toBe(true)
    await until(async () => (await rule()).state === 'met')

    function rule(): Promise<RuleView> {
      return stage.ask('GET', `${RULES}/m`)
    }
  }, 240_000)
})

test('replicas grow one by one while requests wait, up to the maximum, and go when nobody asks any more', async () => {
  const stage = await Stage.on(onEmbedded, '--max-running-per-model', '2')
  await stage.workers(['a', 'b'], TWO_SLOTS)
  await stage.addModel('m', { tokens_per_s: 5 })
  await stage.rule({ min_replicas: 1, max_replicas: 3 })
  await until(async () => (await stage.ready('m')).length === 1)
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const body = JSON.stringify({
    model: 'm',
    stream: true,
    max_tokens: 1000,
    messages: [{ role: 'user', content: 'Hi' }],
  })
  const asked = Array.from({ length: 6 }, () =>
    fetch(`${stage.frontend.url}/v1/chat/completions`, { method: 'POST', body, signal: stop.signal })
      .then((response) => response.text())
      .catch(() => 'gone'),
  )
  await until(async () => (await stage.ready('m')).length === 3, PATIENCE_MS)
  // The next one only when the last serves. Requests still wait, but that is all it may have.
  const grown = (await stage.events(['replica.placed', 'replica.ready'])).map(({ action }) => action)
  expect(grown).toEqual(Array.from({ length: 3 }, () => ['replica.placed', 'replica.ready']).flat())
  stop.abort()
  await Promise.all(asked)

  await stage.rule({ scale_to_zero_after_s: 10 })
  await until(async () => (await stage.states()).length === 0, PATIENCE_MS)
  expect((await stage.ask<RuleView>('GET', `${RULES}/m`)).state).toBe('met')
  // And somebody who asks again is served.
  expect(await stage.answers('m')).toBe(true)
}, 120_000)

test('when most machines go at once nothing is replaced until somebody says that they are lost', async () => {
  // Longer than the others, so that a machine with much else to do loses no node before.
  const stage = await Stage.on(onEmbedded, '--offline-after-ms', '6000')
  const workers = await stage.workers(['a', 'b', 'c', 'd'], TWO_SLOTS)
  await stage.addModel('m')
  await stage.rule({ min_replicas: 4 })
  await stage.isOn('a', 'b', 'c', 'd')
  await cutPower(...workers.slice(0, 3))
  const told = () => stage.events(['cluster.frozen', 'cluster.loss_accepted', 'cluster.thawed'])
  await until(async () => (await told()).length > 0, PATIENCE_MS)
  for (const name of ['a', 'b', 'c']) await stage.has(name, 'offline')
  expect((await told())[0]!.reason).toContain('flotilla nodes accept-loss')
  const status = await runFlotilla(['status', '--data', stage.frontend.data])
  expect(status.stdout).toContain('accept-loss')

  const accepted = await runFlotilla(['nodes', 'accept-loss', '--yes', '--data', stage.frontend.data])
  expect(accepted).toMatchObject({ code: 0 })
  await stage.isOn('d', 'd')
  const order = (await told()).map(({ action }) => action)
  expect(order).toEqual(['cluster.frozen', 'cluster.loss_accepted', 'cluster.thawed'])
  expect(await stage.events(['replica.lost'])).toHaveLength(3)
}, 240_000)

test('of two frontends the one that led is killed: the other leads, and nothing starts twice', async () => {
  const ground = await onServers()
  const args = [...PACE, '--auto-approve', ...ground.args]
  const frontends = [await startFrontend({ args }), await startFrontend({ args })]
  const epochNow = async () => {
    const [row] = await ground.rows('', `select epoch from leases where name = 'leader'`)
    return Number(row!['epoch'])
  }
  // The first one was alone, so it leads.
  const [one, two] = [new Stage(ground, frontends[0]!, args), new Stage(ground, frontends[1]!, args)]
  const join = `${frontends[0]!.url},${frontends[1]!.url}`
  const workers = ['a', 'b'].map((name) => one.worker(name, { join }))
  for (const name of ['a', 'b']) await one.isHealthy(name)
  await one.addModel('m')
  await one.rule({ min_replicas: 2 })
  await one.isOn('a', 'b')
  const engines = workers.flatMap(({ data }) => enginesOf(data))
  await one.addModel('later', { load_ms: 4000 })
  await one.rule({ min_replicas: 2 }, 'later')
  await until(async () => (await one.states('later')).length === 2)
  const epoch = await epochNow()
  await frontends[0]!.signal('SIGKILL')
  await until(async () => (await epochNow()) === epoch + 1, PATIENCE_MS)
  await until(async () => (await two.ready('later')).length === 2, PATIENCE_MS)
  expect(workers.flatMap(({ data }) => enginesOf(data))).toEqual(expect.arrayContaining(engines))
  expect((await two.events(['replica.placed'])).length).toBe(4)
  for (const worker of workers) expect(worker.stderr().match(/replica ready/g), worker.name).toHaveLength(2)
}, 240_000)
