import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect, createServer, type AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { REFUSAL_HEADER } from '../../api/data-port.ts'
import { readBody, type Handler } from '../../http/server.ts'
import {
  aGateway,
  answer,
  aRouteMessage,
  breakOff,
  counted,
  errorOf,
  hangUp,
  refuseWith,
} from '../../../test/support/gateway/gateway-stage.ts'
import { until } from '../../../test/support/until.ts'

/** Nobody listens there. */
const NOBODY = '127.0.0.1:1'

describe('before the first byte', () => {
  test.each([
    ['does not know it', refuseWith(404)],
    ['has another in its place', refuseWith(409)],
    ['has lost its engine', refuseWith(502)],
    ['is draining', refuseWith(503)],
    ['does not know our key', refuseWith(401)],
    ['hangs up', hangUp],
  ])('the next replica is asked when the first %s', async (_, first) => {
    const { ask, inFlight, decisionOf } = await aGateway([first, answer('from the second')])
    const response = await ask()
    expect(await response.text()).toBe('from the second')
    await until(() => decisionOf(response) !== undefined)
    expect(decisionOf(response)?.tries.map((tried) => tried.replica_id)).toEqual(['r0', 'r1'])
    expect(inFlight()).toEqual([0, 0])
  })

  test.each([NOBODY, 'no address at all'])('the next replica is asked when nobody is at %s', async (address) => {
    const { ask, inFlight } = await aGateway([answer('from the other')], { addresses: [address] })
    for (let i = 0; i < 4; i += 1) expect(await (await ask()).text()).toBe('from the other')
    expect(inFlight()).toEqual([0, 0])
  })

  test('a replica on the same node as one that cannot be reached is tried last', async () => {
    const { ask, table, routes, decisionOf } = await aGateway([answer('from another node')])
    // Never used, so that they come first: three on a node that is gone.
    const lost = [1, 2, 3].map((i) => aRouteMessage(i, { address: NOBODY, node_id: 'gone', node_name: 'gone' }))
    await (await ask()).text()
    table.apply({ feed: 'f', version: 2, from_version: 1, set: lost, removed: [], heard: ['gone'] }, Date.now())
    const response = await ask()
    expect(await response.text()).toBe('from another node')
    await until(() => decisionOf(response) !== undefined)
    expect(decisionOf(response)?.tries.map((tried) => tried.node_name)).toEqual(['gone', routes[0]!.node_name])
    table.apply({ feed: 'f', version: 3, from_version: 2, set: [], removed: ['r0'], heard: [] }, Date.now())
    expect((await errorOf(await ask())).message).toContain('3 of its replicas did not answer')
  })

  test('the whole request is sent again', async () => {
    const body = JSON.stringify({ model: 'm', prompt: 'x'.repeat(3_000_000) })
    const { ask } = await aGateway([
      refuseWith(503),
      (request, response) => void request.once('data', () => response.destroy()),
      async (request, response) => void response.end(String((await readBody(request, 1e7)).equals(Buffer.from(body)))),
    ])
    expect(await (await ask(body)).text()).toBe('true')
  })

  test('three replicas are tried, and each once', async () => {
    const workers = Array.from({ length: 5 }, () => counted(hangUp))
    const { ask, inFlight } = await aGateway(workers)
    const response = await ask()
    expect([response.status, response.headers.get('retry-after')]).toEqual([502, '2'])
    expect((await errorOf(response)).message).toContain('3 of its replicas did not answer')
    expect(workers.map(({ requests }) => requests).toSorted((a, b) => a - b)).toEqual([0, 0, 1, 1, 1])
    expect(inFlight()).toEqual([0, 0, 0, 0, 0])
  })

  test('that all refuse is told as what it is', async () => {
    const { ask } = await aGateway([refuseWith(503), refuseWith(404)])
    const response = await ask()
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2'])
    expect((await errorOf(response)).message).toContain('2 of its replicas refused')
  })

  test.each([429, 503, 500, 404])('an engine’s own %i is the answer, and nobody else is asked', async (status) => {
    const other = counted(answer('{}'))
    const first: Handler = (_, response) => void response.writeHead(status, { 'retry-after': '9' }).end('mine')
    const { ask } = await aGateway([first, other])
    const response = await ask()
    expect([response.status, response.headers.get('retry-after'), await response.text()]).toEqual([status, '9', 'mine'])
    expect(other.requests).toBe(0)
  })

  test('that a request is too long, one worker says for all', async () => {
    const other = counted(answer('{}'))
    const { ask } = await aGateway([refuseWith(413), other])
    const response = await ask()
    expect([response.status, response.headers.get(REFUSAL_HEADER), other.requests]).toEqual([413, null, 0])
  })

  test('a slow engine is waited for, not doubled', async () => {
    const arrived = Promise.withResolvers<ServerResponse>()
    const other = counted(answer('{}'))
    const { ask } = await aGateway([(_, response) => arrived.resolve(response), other])
    const asked = ask()
    const response = await arrived.promise
    for (let i = 0; i < 20; i += 1) await (await ask()).text()
    response.end('at last')
    expect(await (await asked).text()).toBe('at last')
    expect(other.requests).toBe(20)
  })
})

describe('after the first byte', () => {
  const events = 'text/event-stream; charset=utf-8'

  test('a stream says what happened, and nobody else is asked', async () => {
    const other = counted(answer('{}'))
    const { ask, inFlight, decisionOf } = await aGateway([breakOff(events, 'data: {"n":1}\n\n'), other])
    const response = await ask()
    const [first, second, rest] = (await response.text()).split('\n\n')
    expect([first, rest, other.requests]).toEqual(['data: {"n":1}', '', 0])
    expect(JSON.parse(second!.replace('data: ', ''))).toMatchObject({
      error: { message: 'The replica on node0 stopped in the middle of this answer.', code: 'bad_gateway' },
    })
    await until(() => decisionOf(response) !== undefined)
    expect(decisionOf(response)).toMatchObject({ status: 200, tries: [{ outcome: 'broken off', status: 200 }] })
    expect(inFlight()).toEqual([0, 0])
  })

  test('a stream of Anthropic’s says so in their way', async () => {
    const { post } = await aGateway([breakOff(events, 'event: ping\ndata: {}\n\n')])
    const [, last] = (await (await post('/v1/messages', { model: 'm' })).text()).split('\n\n')
    const [event, data] = last!.split('\n')
    expect(event).toBe('event: error')
    expect(JSON.parse(data!.replace('data: ', ''))).toMatchObject({ type: 'error', error: { type: 'api_error' } })
  })

  test('anything else is cut, so that nobody takes a part for the whole', async () => {
    const { ask, inFlight } = await aGateway([breakOff('application/json', '{"half":'), answer('{}')])
    await expect(ask().then((response) => response.text())).rejects.toThrow('terminated')
    expect(inFlight()).toEqual([0, 0])
  })
})

describe('a client that goes away', () => {
  test.each(['before the answer', 'in the middle of the answer'])('%s ends the engine’s work at once', async (when) => {
    const upstream = Promise.withResolvers<ServerResponse>()
    const other = counted(answer('{}'))
    const slow: Handler = (_, response) => {
      if (when === 'in the middle of the answer') response.write('some')
      upstream.resolve(response)
    }
    const { ask, inFlight, decisions } = await aGateway([slow, other])
    const leave = new AbortController()
    const asked = ask(undefined, { signal: leave.signal, headers: { 'x-request-id': 'mine' } }).catch(() => {})
    const closed = once(await upstream.promise, 'close')
    expect(inFlight()).toEqual([1, 0])
    if (when === 'in the middle of the answer') await asked
    leave.abort()
    await closed
    await until(() => decisions.find('mine') !== undefined)
    expect(decisions.find('mine')).toMatchObject({ status: 499, tries: [{ replica_id: 'r0', outcome: 'client gone' }] })
    expect([inFlight(), other.requests]).toEqual([[0, 0], 0])
    await asked
  })

  test('in the middle of its request is found nowhere in flight', async () => {
    const worker = counted(answer('{}'))
    const { url, inFlight, decisions } = await aGateway([worker])
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write('POST /v1/x HTTP/1.1\r\nhost: a\r\nx-request-id: mine\r\ncontent-length: 100\r\n\r\n{"model":')
    await once(socket, 'connect')
    socket.destroy()
    await until(() => decisions.find('mine') !== undefined)
    expect(decisions.find('mine')).toMatchObject({ status: 499, model: null, tries: [] })
    expect([inFlight(), worker.requests]).toEqual([[0], 0])
  })

  test('while its replica is asked whether it lives waits for nothing, and the others hear the answer', async () => {
    const probed = Promise.withResolvers<ServerResponse>()
    const worker: Handler = (request, response) => {
      if (request.method === 'GET') probed.resolve(response)
      else response.end('served')
    }
    const { ask, inFlight, decisions } = await aGateway([worker], { isHeard: false })
    const leave = new AbortController()
    const first = ask(undefined, { signal: leave.signal, headers: { 'x-request-id': 'mine' } }).catch(() => {})
    const probe = await probed.promise
    const second = ask()
    await until(() => inFlight()[0] === 2)
    leave.abort()
    await until(() => inFlight()[0] === 1)
    expect(decisions.find('mine')).toMatchObject({ status: 499 })
    probe.end('{}')
    expect(await (await second).text()).toBe('served')
    await first
  })
})

describe('a replica of which nothing was heard', () => {
  test('is asked first, once for all, and serves', async () => {
    const worker = counted(answer('{}'))
    const { ask } = await aGateway([worker], { isHeard: false })
    await Promise.all(Array.from({ length: 10 }, () => ask()))
    await ask()
    expect([worker.probes, worker.requests]).toEqual([1, 11])
  })

  test('lives, whatever its engine answers', async () => {
    const worker: Handler = ({ method }, response) => void response.writeHead(method === 'GET' ? 500 : 200).end('x')
    const { ask } = await aGateway([worker], { isHeard: false })
    expect((await ask()).status).toBe(200)
  })

  test('is not asked with a time of 0', async () => {
    const worker = counted(answer('{}'))
    const { ask } = await aGateway([worker], { isHeard: false, probeTtlMs: 0 })
    expect((await ask()).status).toBe(200)
    expect(worker.probes).toBe(0)
  })

  test.each([
    ['refused by its node', refuseWith(404)],
    ['cut off', hangUp],
  ])('is passed over when the question is %s, and gets no request', async (_, handler) => {
    const dead = counted(handler)
    const { ask, decisionOf } = await aGateway([dead, answer('from the second')], { isHeard: false })
    const response = await ask()
    expect(await response.text()).toBe('from the second')
    await until(() => decisionOf(response) !== undefined)
    expect(decisionOf(response)?.tries).toHaveLength(1)
    expect(decisionOf(response)?.candidates.find((candidate) => candidate.replica_id === 'r0')).toMatchObject({
      left_out: expect.stringContaining('no probe answered') as string,
    })
    expect(dead.requests).toBe(0)
  })

  test('may be one of many that are gone: more of them are asked than a request may be tried', async () => {
    const { ask } = await aGateway([answer('the last one')], {
      isHeard: false,
      addresses: Array.from({ length: 9 }, () => NOBODY),
    })
    const texts = await Promise.all(Array.from({ length: 5 }, async () => (await ask()).text()))
    expect(new Set(texts)).toEqual(new Set(['the last one']))
  })

  test('that says nothing is still tried when there is no other', async () => {
    const worker: Handler = ({ method }, response) => void (method === 'POST' && response.end('busy, but here'))
    const { ask } = await aGateway([worker], { isHeard: false })
    expect(await (await ask()).text()).toBe('busy, but here')
  })
})

describe('a replica that is left out', () => {
  test('gets nothing after a refusal as unknown, until the table names it anew', async () => {
    let isKnown = false
    const first = counted((request, response) => (isKnown ? answer('{}') : refuseWith(404))(request, response))
    const { ask, table, routes } = await aGateway([first, answer('{}')])
    for (let i = 0; i < 10; i += 1) expect((await ask()).status).toBe(200)
    expect(first.requests).toBe(1)
    isKnown = true
    const set = [{ ...routes[0]!, generation: 8 }]
    table.apply({ feed: 'f', version: 2, from_version: 1, set, removed: [], heard: ['n0'] }, Date.now())
    for (let i = 0; i < 10; i += 1) await ask()
    expect(first.requests).toBeGreaterThan(4)
  })

  test('does not concern its siblings on the same node', async () => {
    const worker = counted((request, response) =>
      (request.url!.startsWith('/replicas/r0/') ? refuseWith(404) : answer('{}'))(request, response),
    )
    const { ask, table, routes } = await aGateway([worker])
    const sibling = aRouteMessage(1, { address: routes[0]!.address, node_id: 'n0' })
    table.apply({ feed: 'f', version: 2, from_version: 1, set: [sibling], removed: [], heard: ['n0'] }, Date.now())
    for (let i = 0; i < 10; i += 1) expect((await ask()).status).toBe(200)
    expect(worker.requests).toBe(11)
  })

  test('is tried all the same when there is no other', async () => {
    let isBack = false
    const worker: Handler = (request, response) => (isBack ? answer('back') : hangUp)(request, response)
    const { ask } = await aGateway([worker], { probeTtlMs: 0 })
    for (let i = 0; i < 5; i += 1) expect((await ask()).status).toBe(502)
    isBack = true
    expect(await (await ask()).text()).toBe('back')
  })

  test('is told in the record of those that went elsewhere', async () => {
    const { ask, decisionOf } = await aGateway([answer('{}')], { addresses: [NOBODY], probeTtlMs: 0 })
    for (let i = 0; i < 12; i += 1) await ask()
    const response = await ask()
    await until(() => decisionOf(response) !== undefined)
    expect(decisionOf(response)?.candidates.map((candidate) => candidate.left_out)).toEqual([
      null,
      expect.stringContaining('ejected: 3 failures in a row'),
    ])
  })
})

test('a worker that speaks no HTTP is as good as none', async () => {
  const server = createServer((socket) => void socket.on('error', () => {}).end('what?\r\n\r\n'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const { ask, inFlight } = await aGateway([answer('from the other')], { addresses: [`127.0.0.1:${port}`] })
  for (let i = 0; i < 4; i += 1) expect(await (await ask()).text()).toBe('from the other')
  expect(inFlight()).toEqual([0, 0])
})
