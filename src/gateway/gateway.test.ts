import { describe, expect, onTestFinished, test } from 'vitest'
import { MODEL_HEADER, REFUSAL_HEADER } from '../api/data-port.ts'
import type { RouteMessage } from '../api/bus/messages.ts'
import { systemClock } from '../platform/clock.ts'
import { readBody, type Handler } from '../platform/http.ts'
import { silentLogger } from '../platform/log.ts'
import { serve } from '../testing/http.ts'
import { allowInference } from './guard.ts'
import { inferenceApi } from './inference.ts'
import { LiveTable } from './routing-table.ts'

/** A gateway in front of workers that answer as told; `m` is served by all of them. */
async function aGateway(workers: Handler[], models = ['m']) {
  const routes: RouteMessage[] = []
  for (const [i, worker] of workers.entries()) {
    const address = new URL(await serve(worker)).host
    const ids = { replica_id: `r${i}`, node_id: `n${i}`, node_name: `node${i}` }
    routes.push({ ...ids, generation: 7, model_name: 'm', address, data_key: `key${i}` })
  }
  const table = new LiveTable()
  const list = models.map((name) => ({ name, engine: 'sim', created_at: 1_000_000 }))
  table.replace({ feed: 'f', version: 1, models: list, routes })
  const api = inferenceApi({ table, clock: systemClock, log: silentLogger })
  onTestFinished(() => api.dispose())
  const url = await serve(api)
  const ask = (body: unknown, init: RequestInit = {}) =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...init,
    })
  const inFlight = () => table.routesOf('m').map((route) => table.loadOf(route).inFlight)
  return { url, ask, table, inFlight }
}

const refuse: Handler = (_, response) => void response.writeHead(404, { [REFUSAL_HEADER]: '1' }).end('{}')
const hangUp: Handler = (_, response) => void response.destroy()
const answer =
  (text: string): Handler =>
  (_, response) =>
    void response.end(text)
const errorOf = async (response: Response) =>
  ((await response.json()) as { error: { message: string; code: string } }).error

describe('a request', () => {
  test('reaches the replica with its bytes as they were, the node’s own key, and replica and model named', async () => {
    let seen = {}
    const { ask } = await aGateway([
      async (request, response) => {
        const body = (await readBody(request, 1000)).toString()
        const { authorization: key, 'x-extra': extra, [MODEL_HEADER]: model } = request.headers
        seen = { body, path: request.url, key, extra, model }
        response.end('{}')
      },
    ])
    const body = '{ "model":"m",  "unknown_field": [1,2] }'
    await ask(body, { headers: { authorization: 'Bearer client', 'x-extra': '1', [MODEL_HEADER]: 'none of yours' } })
    const path = '/replicas/r0/7/v1/chat/completions'
    expect(seen).toEqual({ body, path, key: 'Bearer key0', extra: '1', model: 'm' })
  })

  test('the answer of the engine is the answer of the gateway, errors too', async () => {
    const { ask } = await aGateway([
      (_, response) => void response.writeHead(422, { 'x-engine': '1' }).end('engine says no'),
    ])
    const response = await ask({ model: 'm' })
    expect([response.status, response.headers.get('x-engine'), await response.text()]).toEqual([
      422,
      '1',
      'engine says no',
    ])
  })

  test.each([
    ['refuses', refuse],
    ['hangs up before answering', hangUp],
  ])('goes to the next replica when the first %s', async (_, first) => {
    const { ask, inFlight } = await aGateway([first, answer('from the second')])
    expect(await (await ask({ model: 'm' })).text()).toBe('from the second')
    expect(inFlight()).toEqual([0, 0])
  })

  test('that no replica takes is a truthful error with Retry-After', async () => {
    const { ask, inFlight } = await aGateway([refuse, hangUp])
    const response = await ask({ model: 'm' })
    expect(response.status).toBe(502)
    expect(response.headers.get('retry-after')).toBe('2')
    expect((await errorOf(response)).message).toContain('2 of its replicas did not answer')
    expect(inFlight()).toEqual([0, 0])
  })

  test('whose stream breaks off gets an error event, and the count returns to 0', async () => {
    const { ask, inFlight } = await aGateway([
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write('data: {"n":1}\n\n', () => response.destroy())
      },
    ])
    const text = await (await ask({ model: 'm' })).text()
    expect(text).toContain('data: {"n":1}')
    expect(text).toContain('The replica on node0 stopped in the middle of this answer.')
    expect(inFlight()).toEqual([0])
  })
})

describe('spreading', () => {
  test('16 requests at once over 4 idle replicas are 4, 4, 4, 4', async () => {
    const release = Promise.withResolvers<void>()
    const counts = [0, 0, 0, 0]
    const all = Promise.withResolvers<void>()
    const workers = counts.map((_, i): Handler => async (_request, response) => {
      counts[i]! += 1
      if (counts.reduce((a, b) => a + b) === 16) all.resolve()
      await release.promise
      response.end('{}')
    })
    const { ask, inFlight } = await aGateway(workers)
    const asked = Array.from({ length: 16 }, () => ask({ model: 'm' }))
    await all.promise
    expect(counts).toEqual([4, 4, 4, 4])
    expect(inFlight()).toEqual([4, 4, 4, 4])
    release.resolve()
    await Promise.all(asked)
    expect(inFlight()).toEqual([0, 0, 0, 0])
  })
})

describe('mistakes', () => {
  test.each([
    ['no JSON', '{', 400, 'not valid JSON'],
    ['no model', {}, 400, '"model"'],
    ['a model that is no text', { model: 5 }, 400, '"model"'],
    ['an unknown model with a near name', { model: 'n' }, 404, 'Did you mean "m"?'],
    ['an unknown model', { model: 'gpt-4o' }, 404, 'GET /v1/models'],
    ['a model without a ready replica', { model: 'cold' }, 503, 'has no ready replica'],
  ])('%s: a clear error', async (_, body, status, message) => {
    const { ask } = await aGateway([answer('{}')], ['m', 'cold'])
    const response = await ask(body)
    expect(response.status).toBe(status)
    expect((await errorOf(response)).message).toContain(message)
  })

  test('before the first routing table it says so instead of "unknown model"', async () => {
    const api = inferenceApi({ table: new LiveTable(), clock: systemClock, log: silentLogger })
    const url = await serve(api)
    const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: '{"model":"m"}' })
    expect(response.status).toBe(503)
    expect((await errorOf(response)).message).toContain('not yet heard')
  })

  test.each([
    ['GET', '/v1/chat/completions', 404],
    ['DELETE', '/v1/models', 405],
    ['GET', '/v1/models/none', 404],
  ])('%s %s is %i', async (method, path, status) => {
    const { url } = await aGateway([])
    expect((await fetch(`${url}${path}`, { method })).status).toBe(status)
  })
})

test('/v1/models lists the models with how many replicas can serve', async () => {
  const { url } = await aGateway([answer('{}')], ['m', 'org/cold'])
  expect(await (await fetch(`${url}/v1/models`)).json()).toEqual({
    object: 'list',
    data: [
      { id: 'm', object: 'model', created: 1000, owned_by: 'flotilla', ready_replicas: 1 },
      { id: 'org/cold', object: 'model', created: 1000, owned_by: 'flotilla', ready_replicas: 0 },
    ],
  })
  expect(await (await fetch(`${url}/v1/models/org%2Fcold`)).json()).toMatchObject({ id: 'org/cold' })
})

describe('who may ask', () => {
  const from =
    (remoteAddress: string, headers: Record<string, string> = {}) =>
    () =>
      allowInference({ socket: { remoteAddress }, headers } as never, 'right')

  test('anybody on this machine, anybody with the key', () => {
    expect(from('127.0.0.1', { host: '127.0.0.1:8080' })).not.toThrow()
    expect(from('::1', { host: 'localhost:8080', origin: 'http://localhost:8080' })).not.toThrow()
    expect(from('10.0.0.7', { host: 'flotilla:8080', authorization: 'Bearer right' })).not.toThrow()
    expect(from('10.0.0.7', { authorization: 'Bearer wrong' })).toThrow('The key is wrong')
  })

  test.each([
    ['another machine without a key', '10.0.0.7', {}],
    ['a host name that was pointed here (DNS rebinding)', '127.0.0.1', { host: 'evil.example:8080' }],
    ['a page of another site', '127.0.0.1', { host: '127.0.0.1:8080', origin: 'https://evil.example' }],
    ['a page without an origin of its own', '127.0.0.1', { host: '127.0.0.1:8080', origin: 'null' }],
  ])('not %s', (_, address, headers) => {
    expect(from(address, headers)).toThrow('needs a key')
  })
})
