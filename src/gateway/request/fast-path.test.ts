import { describe, expect, test } from 'vitest'
import type { RoutedKeyMessage } from '../../api/bus/messages.ts'
import { systemClock } from '../../platform/run/clock.ts'
import { hashSecret } from '../../platform/secrets.ts'
import type { ClientTls } from '../../platform/tls/client-tls.ts'
import { Tracer } from '../../platform/tracing/tracer.ts'
import { anExporter } from '../../../test/support/http/collector.ts'
import {
  answer,
  aRoutedModel,
  counted as countedWorker,
  refuseWith,
} from '../../../test/support/gateway/gateway-stage.ts'
import { serve } from '../../../test/support/http/http.ts'
import { KeptClient } from '../../../test/support/http/kept-client.ts'
import { answerWhole, askBytes, aShortStage, type AskOptions } from '../../../test/support/http/short-stage.ts'
import { until } from '../../../test/support/until.ts'
import { WaitingRoom } from '../deliver/waiting-room.ts'

const aClock = () => {
  const clock = { ms: 1_000_000, nowMs: () => clock.ms, after: systemClock.after.bind(systemClock) }
  return clock
}

describe('the shortcut', () => {
  test('is for all requests with a head that came before, on whichever connection', async () => {
    const { ask, url, counted, decisions } = await aShortStage([answerWhole('{"a":1}')])
    for (const id of ['a', 'b', 'c']) expect(await ask({ id })).toMatchObject({ status: 200, body: '{"a":1}' })
    expect(counted.counts()).toEqual({ taken: 2, answered: 2, lengthened: 0 })
    expect(await ask({ id: 'd' }, new KeptClient(url))).toMatchObject({ status: 200 })
    expect(counted.answered).toBe(3)
    for (const id of ['a', 'b', 'c', 'd']) {
      expect(decisions.find(id)).toMatchObject({ status: 200, model: 'm', tries: [{ outcome: 'served', status: 200 }] })
    }
  })

  test('answers with the client’s id, and to one who has none with another each time', async () => {
    const { ask, url } = await aShortStage([answerWhole('{}')])
    const idOf = (headers: [string, string][]) => headers.find(([name]) => name === 'x-request-id')![1]
    for (const id of ['first', 'second', 'third']) expect(idOf((await ask({ id })).headers)).toBe(id)
    const other = new KeptClient(url)
    const bytes = Buffer.from(askBytes().replace('x-request-id: mine\r\n', ''))
    const ids = [await other.ask(bytes), await other.ask(bytes), await other.ask(bytes)].map(([one]) =>
      idOf(one!.headers),
    )
    expect(new Set(ids).size).toBe(3)
  })

  test('is left as soon as an answer is no short one, and a stream is sent by it', async () => {
    const { ask, counted, isQuiet } = await aShortStage([answer('in chunks')])
    for (let i = 0; i < 3; i += 1) expect(await ask()).toMatchObject({ body: 'in chunks', isWhole: true })
    const stream = { body: '{"model":"m","stream":true}' }
    expect(await ask(stream)).toMatchObject({ body: 'in chunks' })
    expect(counted.counts()).toEqual({ taken: 3, answered: 0, lengthened: 3 })
    await until(isQuiet)
  })

  test.each<[string, AskOptions]>([
    ['that is longer than 16 KiB', { body: JSON.stringify({ model: 'm', x: 'y'.repeat(16_384) }) }],
    ['that would rather wait', { lines: ['x-flotilla-wait: keep-alive'] }],
    ['that says how it is encoded', { lines: ['content-encoding: identity'] }],
    ['with a query', { path: '/v1/x?a=b' }],
    ['that names its session inside', { body: '{"model":"m","metadata":{"user_id":"u"}}' }],
    ['through a proxy, which needs a key', { lines: ['x-forwarded-for: 1.2.3.4'] }],
  ])('is not for a request %s', async (_, asked) => {
    const { ask, counted } = await aShortStage([answerWhole('{}')])
    for (let i = 0; i < 3; i += 1) expect((await ask(asked)).status).toBe(200)
    expect(counted.taken).toBe(0)
  })

  test('keeps to the limit of bodies, where that is lower than its own', async () => {
    const { ask, counted } = await aShortStage([answerWhole('{}')], { limits: { mostBodyBytes: 100 } })
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 200])
    expect((await ask({ body: JSON.stringify({ model: 'm', x: 'y'.repeat(100) }) })).status).toBe(413)
    expect(counted.taken).toBe(1)
  })

  test('keeps to the limit of heads', async () => {
    const { wire, counted } = await aShortStage([answerWhole('{}')])
    const headerBytes = askBytes({ id: 'x' }).indexOf('\r\n\r\n') + 4
    const client = new KeptClient(await serve(wire.handler, { wire, limits: { headerBytes } }))
    const statuses: (number | undefined)[] = []
    for (const id of ['a', 'b', 'x'.repeat(100)])
      statuses.push((await client.ask(Buffer.from(askBytes({ id }))))[0]?.status)
    expect(statuses).toEqual([200, 200, 431])
    expect(counted.taken).toBe(1)
  })

  test('is not looked for on a connection whose heads are never the same', async () => {
    const { ask, url, counted } = await aShortStage([answerWhole('{}')])
    for (let i = 0; i < 5; i += 1) await ask({ lines: [`x-n: ${i}`] })
    await ask()
    await ask()
    expect(counted.taken).toBe(0)
    const other = new KeptClient(url)
    await ask({}, other)
    await ask({}, other)
    expect(counted.taken).toBe(1)
  })

  test('is not there where requests are traced', async () => {
    const { exporter } = anExporter('http://127.0.0.1:1')
    const tracer = new Tracer({ sink: exporter, service: 'x', ratio: 0, random: () => 0.5 })
    const { ask, counted, wire } = await aShortStage([answerWhole('{}')], { tracer })
    for (let i = 0; i < 3; i += 1) expect((await ask()).status).toBe(200)
    expect([wire.shortcut(), counted.taken]).toEqual([undefined, 0])
  })
})

describe('between two requests with the same head', () => {
  const KEY = 'fk_key'
  const aKey = (fields: Partial<RoutedKeyMessage> = {}): RoutedKeyMessage => {
    const key = { id: 'k', key_hash: hashSecret(KEY), scopes: ['inference' as const], models: null, expires_at: null }
    return { ...key, ...fields }
  }
  const withKey = { lines: [`authorization: Bearer ${KEY}`] }

  test.each([
    ['revoked', []],
    ['made one for other things', [aKey({ scopes: ['read'] })]],
  ])('a key may be %s', async (_, keys) => {
    const { ask, counted, table, decisions } = await aShortStage([answerWhole('{}')], { keys: [aKey()] })
    expect([(await ask(withKey)).status, (await ask({ ...withKey, id: 'second' })).status]).toEqual([200, 200])
    expect(decisions.find('second')).toMatchObject({ key_id: 'k' })
    table.apply({ feed: 'f', version: 2, from_version: 1, set: [], removed: [], heard: [], keys }, Date.now())
    expect((await ask(withKey)).status).toBe(keys.length === 0 ? 401 : 403)
    expect(counted.taken).toBe(1)
  })

  test('a key may expire', async () => {
    const clock = aClock()
    const keys = [aKey({ expires_at: clock.ms + 1000 })]
    const { ask, counted } = await aShortStage([answerWhole('{}')], { keys, clock })
    expect([(await ask(withKey)).status, (await ask(withKey)).status]).toEqual([200, 200])
    clock.ms += 1000
    expect((await ask(withKey)).status).toBe(401)
    expect(counted.taken).toBe(1)
  })

  test('another key may be shown, which is wrong', async () => {
    const { ask, counted } = await aShortStage([answerWhole('{}')], { keys: [aKey()] })
    await ask(withKey)
    await ask(withKey)
    expect((await ask({ lines: ['authorization: Bearer fk_kez'] })).status).toBe(401)
    expect(counted.taken).toBe(1)
  })

  test('another model may be asked for, which the key may not use', async () => {
    const models = [aRoutedModel(), aRoutedModel({ name: 'n' })]
    const { ask, counted } = await aShortStage([answerWhole('{}')], { keys: [aKey({ models: ['m'] })], models })
    expect([(await ask(withKey)).status, (await ask(withKey)).status]).toEqual([200, 200])
    expect((await ask({ ...withKey, model: 'n' })).status).toBe(403)
    expect(counted.taken).toBe(1)
  })

  test('the route may be taken away', async () => {
    const { ask, counted, table } = await aShortStage([answerWhole('{}')])
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 200])
    table.apply({ feed: 'f', version: 2, from_version: 1, set: [], removed: ['r0'], heard: [] }, Date.now())
    expect((await ask()).status).toBe(503)
    expect(counted.taken).toBe(1)
  })

  test('the node may want a certificate that cannot be used, and no place is held for what fails so', async () => {
    const tls = {
      connect() {
        throw new Error('no such certificate')
      },
    } as unknown as ClientTls
    const { ask, counted, table, routes, isQuiet } = await aShortStage([answerWhole('{}')], { tls, probeTtlMs: 0 })
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 200])
    const set = [{ ...routes[0]!, tls_fingerprint: 'a' }]
    table.apply({ feed: 'f', version: 2, from_version: 1, set, removed: [], heard: [] }, Date.now())
    expect((await ask()).status).toBe(500)
    expect(counted.taken).toBe(1)
    await until(isQuiet)
  })

  test('so much time may pass that the replica is asked first whether it lives', async () => {
    const clock = aClock()
    const worker = countedWorker(answerWhole('{}'))
    const { ask, counted } = await aShortStage([worker], { clock })
    await ask()
    await ask()
    clock.ms += 30_001
    expect((await ask()).status).toBe(200)
    expect([worker.probes, counted.taken]).toEqual([1, 1])
    await ask()
    expect([worker.probes, counted.taken]).toEqual([1, 2])
  })

  test('there may be no more room, so that the next one waits for its turn', async () => {
    const held: (() => void)[] = []
    const worker = countedWorker((request, response) => {
      if (worker.requests < 3) void answerWhole('{}')(request, response)
      else held.push(() => answerWhole('{}')(request, response))
    })
    const waitingRoom = new WaitingRoom(systemClock, { runningPerModel: 1 })
    const { ask, url, counted, isQuiet } = await aShortStage([worker], { waitingRoom })
    await ask()
    await ask()
    const first = ask()
    await until(() => held.length === 1)
    const second = ask({ id: 'second' }, new KeptClient(url))
    await until(() => waitingRoom.countsOf('m').waiting === 1)
    expect(counted.taken).toBe(2)
    held.shift()!()
    await until(() => held.length === 1)
    held.shift()!()
    expect([(await first).status, (await second).status]).toEqual([200, 200])
    await until(isQuiet)
  })

  test('the replica may refuse, and the next one serves', async () => {
    let isDraining = false
    const first = countedWorker((request, response) =>
      (isDraining ? refuseWith(503) : answerWhole('first'))(request, response),
    )
    const { ask, counted, decisions, isQuiet } = await aShortStage([first, answerWhole('second')])
    await ask()
    isDraining = true
    const bodies = [(await ask({ id: 'a' })).body, (await ask({ id: 'b' })).body]
    expect(bodies).toEqual(['second', 'second'])
    expect(first.requests).toBe(2)
    const tries = decisions.find('b')!.tries.map(({ replica_id: id, outcome }) => [id, outcome])
    expect(tries).toEqual([
      ['r0', 'refused'],
      ['r1', 'served'],
    ])
    expect(counted.counts()).toEqual({ taken: 2, answered: 1, lengthened: 1 })
    await until(isQuiet)
  })
})
