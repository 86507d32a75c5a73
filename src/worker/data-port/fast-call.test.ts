import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { MODEL_HEADER, replicaPath } from '../../api/data-port.ts'
import { AppError } from '../../platform/errors.ts'
import { prometheusText } from '../../platform/metrics/exposition.ts'
import { Metrics } from '../../platform/metrics/metrics.ts'
import { Tracer } from '../../platform/tracing/tracer.ts'
import { aReport } from '../../../test/support/builders.ts'
import { anExporter } from '../../../test/support/http/collector.ts'
import { CountedShortcut } from '../../../test/support/http/counted-shortcut.ts'
import { aDataPort, rawEngine, type DataPortStage, type TestReplica } from '../../../test/support/worker/data-port.ts'
import { KeptClient, type KeptAnswer } from '../../../test/support/http/kept-client.ts'
import { rawClient } from '../../../test/support/http/raw-client.ts'
import { deeds, scriptedUpstream, type Deed } from '../../../test/support/http/scripted-upstream.ts'
import { until } from '../../../test/support/until.ts'
import { workerMetrics } from '../report/worker-metrics.ts'

interface Asked {
  id?: string
  key?: string
  model?: string
  deeds?: Deed[]
  more?: string
}

function bytesOf({ id = 'mine', key = 'right', model = 'm', deeds: wanted = ['whole'], more = '' }: Asked): Buffer {
  const body = `{"model":"m","deeds":${JSON.stringify(wanted)}${more}}`
  const lines = ['host: a', `authorization: Bearer ${key}`, `${MODEL_HEADER}: ${model}`, `x-request-id: ${id}`]
  const head = `POST ${replicaPath('r', 7)}/v1/x HTTP/1.1\r\n${lines.join('\r\n')}\r\ncontent-length: ${body.length}`
  return Buffer.from(`${head}\r\n\r\n${body}`)
}

/** A data port whose shortcut is counted, in front of an engine that answers as it is asked to. */
async function aStage(options: DataPortStage = {}) {
  const metrics = new Metrics()
  const reports = [aReport({ id: 'r', model_name: 'm' })]
  const facts = { problem: () => undefined, replicas: () => reports, hardware: () => undefined }
  const counted = new CountedShortcut()
  const engine = scriptedUpstream(new Map())
  const counts = workerMetrics(metrics, facts)
  const stage = await aDataPort(await rawEngine(engine.onConnection), { shortcut: counted.around, counts, ...options })
  const client = new KeptClient(stage.url)
  const ask = async (asked: Asked = {}): Promise<KeptAnswer | undefined> => (await client.ask(bytesOf(asked)))[0]
  /** What is counted, without times. */
  const figures = () =>
    prometheusText(metrics)
      .split('\n')
      .filter((line) => /^flotilla_(engine_requests|tokens|answers)_|_count/.test(line))
  return { ...stage, counted, engine, client, ask, figures }
}

test('requests of a gateway go by the shortcut, each with its own id', async () => {
  const { ask, counted, engine, replica, figures } = await aStage()
  for (const id of ['a', 'b', 'c']) expect(await ask({ id })).toMatchObject({ status: 200, body: '{"a":1}' })
  expect(counted.counts()).toEqual({ taken: 2, answered: 2, lengthened: 0 })
  expect(engine.seen).toHaveLength(3)
  expect([replica.begun, replica.ended, replica.inFlight]).toEqual([3, 3, 0])
  expect(figures()).toContain('flotilla_engine_requests_total{model="m",replica="r",outcome="answered"} 3')
})

test('an engine that names its answers is quoted right', async () => {
  const { ask, counted } = await aStage()
  for (const id of ['a', 'b', 'c']) {
    expect((await ask({ id, deeds: ['whole, and odd'] }))?.headers).toContainEqual(['x-request-id', id])
  }
  expect(counted.answered).toBe(2)
})

test('the tokens of answers are counted', async () => {
  const { ask, counted, figures } = await aStage()
  for (let i = 0; i < 3; i += 1) await ask({ deeds: ['whole, with its usage'] })
  expect(figures()).toContain('flotilla_tokens_total{model="m",replica="r",direction="output"} 27')
  expect(counted.answered).toBe(2)
})

test('there is none where requests are traced', async () => {
  const { exporter } = anExporter('http://127.0.0.1:1')
  const tracer = new Tracer({ sink: exporter, service: 'x', ratio: 0, random: () => 0.5 })
  const { ask, counted } = await aStage({ tracer })
  for (let i = 0; i < 3; i += 1) expect((await ask())?.status).toBe(200)
  expect(counted.taken).toBe(0)
})

describe('between two requests with the same head', () => {
  test('the data key may be another', async () => {
    let key = 'right'
    const { ask, counted } = await aStage({ dataKey: () => key })
    await ask()
    expect((await ask())?.status).toBe(200)
    key = 'newer'
    expect(await ask()).toMatchObject({ status: 401, isWhole: true })
    expect((await ask({ key: 'newer' }))?.status).toBe(200)
    expect((await ask({ key: 'newer' }))?.status).toBe(200)
    expect(counted.taken).toBe(2)
  })

  test.each<[string, number, (replica: TestReplica) => void]>([
    ['drain', 503, (replica) => (replica.state = 'draining')],
    ['be started anew', 503, (replica) => (replica.state = 'loading')],
    ['lose its engine', 503, (replica) => (replica.port = undefined)],
    ['be of another generation', 404, (replica) => (replica.spec = { ...replica.spec, generation: 8 })],
    ['serve another model', 409, (replica) => (replica.spec = { ...replica.spec, model_name: 'n' })],
  ])('the replica may %s', async (_, status, change) => {
    const { ask, counted, replica, engine } = await aStage()
    await ask()
    expect((await ask())?.status).toBe(200)
    change(replica)
    const refused = await ask()
    expect(refused?.status).toBe(status)
    expect(refused?.headers.map(([name]) => name)).toContain('x-flotilla-refusal')
    expect([counted.taken, engine.seen.length, replica.inFlight]).toEqual([1, 2, 0])
  })

  test('the replica may be gone', async () => {
    let isGone = false
    const stage = await aStage()
    const replicas = { find: () => (isGone ? undefined : stage.replica) }
    const { ask, counted } = await aStage({ replicas })
    await ask()
    expect((await ask())?.status).toBe(200)
    isGone = true
    expect((await ask())?.status).toBe(404)
    expect(counted.taken).toBe(1)
  })

  test('the worker may be about to leave, and refuse all', async () => {
    let isLeaving = false
    const stage = await aStage()
    const find = (): TestReplica => {
      if (isLeaving) throw new AppError('unavailable', 'The worker of this node is about to be started again.')
      return stage.replica
    }
    const { ask, counted } = await aStage({ replicas: { find } })
    await ask()
    expect((await ask())?.status).toBe(200)
    isLeaving = true
    const refused = await ask()
    expect(refused?.status).toBe(503)
    expect(refused?.headers.map(([name]) => name)).toContain('x-flotilla-refusal')
    expect(counted.taken).toBe(1)
  })

  test('the engine may know the model by another name', async () => {
    const { ask, counted, replica, engine } = await aStage()
    await ask()
    await ask()
    replica.requestModel = 'other'
    expect((await ask())?.status).toBe(200)
    expect(engine.seen.map((text) => text.includes('"model":"other"'))).toEqual([false, false, true])
    expect(counted.taken).toBe(1)
  })
})

test('an engine whose replica was given up meanwhile is not listened to any more', async () => {
  let requests = 0
  let isClosed = false
  const port = await rawEngine((socket) => {
    socket
      .once('close', () => (isClosed = true))
      .on('data', () => {
        requests += 1
        if (requests === 1) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}')
      })
  })
  const counted = new CountedShortcut()
  const { url, replica } = await aDataPort(port, { shortcut: counted.around })
  const client = await rawClient(url)
  client.send(bytesOf({}))
  await client.reads('{}')
  client.send(bytesOf({}))
  await until(() => requests === 2)
  expect(counted.taken).toBe(1)
  replica.port = undefined
  client.endSending()
  expect(await client.closes()).toContain('502 Bad Gateway')
  await until(() => isClosed)
  expect([replica.begun, replica.ended]).toEqual([2, 2])
})

test('whatever the engine does, all is as it is by the long way', { timeout: 120_000 }, async () => {
  // Whether a connection was stale is a matter of time, and nothing here may be.
  const stopped = vi.spyOn(performance, 'now').mockReturnValue(1_000_000)
  const plan = fc.array(
    fc.record({
      deeds: fc.array(fc.constantFrom(...deeds), { minLength: 1, maxLength: 2 }),
      more: fc.constantFrom('', ',"stream":true', `,"x":"${'y'.repeat(17_000)}"`),
    }),
    { minLength: 3, maxLength: 10 },
  )
  const play = async (asked: readonly Asked[], shortcut?: DataPortStage['shortcut']) => {
    const { ask, replica, client, engine, figures } = await aStage(shortcut ? { shortcut } : {})
    const answers = [await ask()]
    for (const [i, one] of asked.entries()) answers.push(await ask({ ...one, id: `id-${i}` }))
    client.close()
    await until(() => replica.inFlight === 0)
    const { begun, ended } = replica
    const said = answers.map((answer) => answer && { ...answer, headers: answer.headers.map(withoutDate) })
    return { said, begun, ended, figures: figures(), seen: engine.seen }
  }
  const total = { answered: 0, lengthened: 0, begun: 0 }
  try {
    await fc.assert(
      fc.asyncProperty(plan, async (asked) => {
        const counted = new CountedShortcut()
        const short = await play(asked, counted.around)
        expect(short).toEqual(await play(asked, () => undefined))
        total.answered += counted.answered
        total.lengthened += counted.lengthened
        total.begun += counted.begun
      }),
      { numRuns: 40 },
    )
  } finally {
    stopped.mockRestore()
  }
  expect(total.answered).toBeGreaterThan(30)
  expect(total.lengthened).toBeGreaterThan(30)
  expect(total.begun).toBeGreaterThan(5)
})

function withoutDate([name, value]: [string, string]): [string, string] {
  return [name, name === 'date' ? '' : value]
}
