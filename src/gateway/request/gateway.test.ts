import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { MODEL_HEADER } from '../../api/data-port.ts'
import { systemClock } from '../../platform/run/clock.ts'
import { readBody, type Handler } from '../../http/server.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { aGateway, answer, anyone, aRoutedModel, errorOf, hangUp } from '../../../test/support/gateway/gateway-stage.ts'
import { serve } from '../../../test/support/http/http.ts'
import { until } from '../../../test/support/until.ts'
import { inferenceApi } from './inference.ts'
import { LiveTable } from '../table/routing-table.ts'

describe('a request', () => {
  test('reaches the replica with its bytes as they were, the node’s own key, and replica and model named', async () => {
    let seen = {}
    const { ask } = await aGateway([
      async (request, response) => {
        const body = (await readBody(request, 1000)).toString()
        const { authorization: key, 'x-api-key': apiKey, 'openai-beta': extra, [MODEL_HEADER]: model } = request.headers
        seen = { body, path: request.url, key, apiKey, extra, model }
        response.end('{}')
      },
    ])
    const body = '{ "model":"m",  "unknown_field": [1,2], "seed": 12345678901234567890 }'
    const theirs = { authorization: 'Bearer client', 'x-api-key': 'client', [MODEL_HEADER]: 'none of yours' }
    await ask(body, { headers: { ...theirs, 'openai-beta': '1' } })
    const path = '/replicas/r0/7/v1/chat/completions'
    expect(seen).toEqual({ body, path, key: 'Bearer key0', apiKey: undefined, extra: '1', model: 'm' })
  })

  test('the answer of the engine is the answer of the gateway, errors too', async () => {
    const { ask } = await aGateway([
      (_, response) => void response.writeHead(422, { 'x-engine': '1' }).end('engine says no'),
    ])
    const response = await ask()
    expect([response.status, response.headers.get('x-engine'), await response.text()]).toEqual([
      422,
      '1',
      'engine says no',
    ])
  })

  test.each([
    '/v1/chat/completions',
    '/v1/completions',
    '/v1/embeddings',
    '/v1/responses',
    '/v1/rerank',
    '/v1/moderations',
    '/v1/images/generations',
    '/v1/audio/speech',
    '/v1/messages',
    '/v1/messages/count_tokens',
    '/v1/score',
    '/v1/what/comes/next?beta=true',
  ])('is forwarded by its model from %s', async (path) => {
    const { post } = await aGateway([(request, response) => void response.end(request.url)])
    expect(await (await post(path, { model: 'm' })).text()).toBe(`/replicas/r0/7${path}`)
  })

  test.each(['/v1/audio/transcriptions', '/v1/audio/translations', '/v1/images/edits', '/v1/images/variations'])(
    'is forwarded by the model in its form from %s',
    async (path) => {
      const { url } = await aGateway([async (request, response) => void response.end(await readBody(request, 10_000))])
      const body = new FormData()
      body.set('file', new Blob(['\0binary\xff']), 'a.wav')
      body.set('model', 'm')
      const response = await fetch(`${url}${path}`, { method: 'POST', body })
      expect(response.status).toBe(200)
      expect(await response.text()).toContain('name="model"\r\n\r\nm\r\n')
    },
  )

  test.each(['/v1/../slots', '/v1/x/%2e%2e/slots', '/v1/..%2fslots', '/v1/x\\..\\slots', '/v1/x/.'])(
    'to %s does not reach what an engine has besides /v1/',
    async (path) => {
      const { url, inFlight } = await aGateway([() => expect.unreachable()])
      const { request } = process.getBuiltinModule('node:http')
      const status = await new Promise((resolve) => {
        const { hostname, port } = new URL(url)
        const outgoing = request({ hostname, port, path, method: 'POST', agent: false }, (reply) => {
          resolve(reply.resume().statusCode)
        })
        outgoing.end('{"model":"m"}')
      })
      expect([status, inFlight()]).toEqual([400, [0]])
    },
  )
})

describe('the id of a request', () => {
  const echo: Handler = (request, response) =>
    void response.setHeader('x-request-id', 'the engine’s own'.slice(0, 3)).end(request.headers['x-request-id'])

  test('is the client’s own when it sends one, for the engine and in the answer', async () => {
    const { ask } = await aGateway([echo])
    const response = await ask(undefined, { headers: { 'x-request-id': 'abc 123' } })
    expect([response.headers.get('x-request-id'), await response.text()]).toEqual(['abc 123', 'abc 123'])
  })

  test.each([
    ['none', undefined],
    ['one that is too long', 'x'.repeat(129)],
    ['one with strange bytes', 'caf\xe9'],
  ])('is made when the client sends %s', async (_, id) => {
    const { ask } = await aGateway([echo])
    const response = await ask(undefined, id === undefined ? {} : { headers: { 'x-request-id': id } })
    const made = response.headers.get('x-request-id')
    expect(made).toMatch(/^[0-9a-f-]{36}$/)
    expect(await response.text()).toBe(made)
  })

  test('is in errors and in what we answer ourselves, too', async () => {
    const { ask, url } = await aGateway([])
    const headers = { 'x-request-id': 'abc' }
    expect((await ask({ model: 'gpt-4o' }, { headers })).headers.get('x-request-id')).toBe('abc')
    expect((await fetch(`${url}/v1/models`, { headers })).headers.get('x-request-id')).toBe('abc')
    expect((await fetch(`${url}/v1/none`, { headers })).headers.get('x-request-id')).toBe('abc')
  })
})

describe('who answered', () => {
  const lying = answer('{}')
  const worker: Handler = (request, response) => {
    response.setHeader('x-flotilla-node', 'a lie').setHeader('X-Flotilla-Replica', 'a lie')
    return lying(request, response)
  }
  const namesIn = ({ headers }: Response) => [headers.get('x-flotilla-node'), headers.get('x-flotilla-replica')]

  test('is not told by default, by nobody', async () => {
    const { ask } = await aGateway([worker])
    expect(namesIn(await ask())).toEqual([null, null])
  })

  test('is told when that is wanted, of each request its own', async () => {
    const { ask } = await aGateway([hangUp, worker, worker], { exposeNode: true })
    const names = await Promise.all(Array.from({ length: 8 }, async () => namesIn(await ask())))
    expect(new Set(names.map(String))).toEqual(new Set(['node1,r1', 'node2,r2']))
  })
})

test('16 requests at once over 4 idle replicas are 4, 4, 4, 4', async () => {
  const release = Promise.withResolvers<void>()
  const counts = [0, 0, 0, 0]
  const workers = counts.map((_, i): Handler => async (_request, response) => {
    counts[i]! += 1
    await release.promise
    response.end('{}')
  })
  const { ask, inFlight } = await aGateway(workers)
  const asked = Array.from({ length: 16 }, () => ask())
  await until(() => counts.reduce((a, b) => a + b) === 16)
  expect(counts).toEqual([4, 4, 4, 4])
  expect(inFlight()).toEqual([4, 4, 4, 4])
  release.resolve()
  await Promise.all(asked)
  expect(inFlight()).toEqual([0, 0, 0, 0])
})

describe('mistakes', () => {
  test.each([
    ['no JSON', '{', 400, 'JSON'],
    ['no model', {}, 400, 'model'],
    ['a model that is no text', { model: 5 }, 400, 'model'],
    ['an unknown model with a near name', { model: 'n' }, 404, 'Did you mean "m"?'],
    ['an unknown model', { model: 'gpt-4o' }, 404, 'GET /v1/models'],
    ['an unknown model with a very long name', { model: 'x'.repeat(1000) }, 404, 'GET /v1/models'],
  ])('%s: a clear error', async (_, body, status, message) => {
    const { ask } = await aGateway([answer('{}')])
    const response = await ask(body)
    expect(response.status).toBe(status)
    expect((await errorOf(response)).message).toContain(message)
  })

  test('before the first routing table it says so instead of "unknown model"', async () => {
    const api = inferenceApi({ table: new LiveTable(), clock: systemClock, log: silentLogger })
    const url = await serve((request, response) => api(request, response, anyone))
    const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: '{"model":"m"}' })
    expect(response.status).toBe(503)
    expect((await errorOf(response)).message).toContain('not yet received')
  })

  test('a key for other models: 403, whether or not there is such a model', async () => {
    const { ask } = await aGateway([answer('{}')], { caller: { keyId: 'k', models: ['other'] } })
    for (const model of ['m', 'none']) {
      const response = await ask({ model })
      expect(response.status).toBe(403)
      expect((await errorOf(response)).message).toContain(`may not use the model "${model}"`)
    }
  })

  test.each([
    ['unknown', { model: 'gpt-4o' }, 404, 'not_found_error'],
    ['not for this key', { model: 'm' }, 403, 'permission_error'],
    ['not ready', { model: 'cold' }, 503, 'overloaded_error'],
    ['not readable', '{', 400, 'invalid_request_error'],
  ])('%s: in Anthropic’s shape where their API is asked', async (_, body, status, type) => {
    const models = [aRoutedModel(), aRoutedModel({ name: 'cold', state: 'starting' })]
    const caller = { keyId: 'k', models: ['cold', 'gpt-4o'] }
    const { post } = await aGateway([answer('{}')], { models, caller })
    const response = await post('/v1/messages', body)
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({
      type: 'error',
      error: { type, message: expect.any(String) as string },
    })
  })

  test.each([
    ['GET', '/v1/chat/completions', 405],
    ['DELETE', '/v1/chat/completions', 405],
    ['DELETE', '/v1/models', 405],
    ['POST', '/v1/models/m', 405],
  ])('%s %s is %i', async (method, path, status) => {
    const { url } = await aGateway([answer('{}')])
    expect((await fetch(`${url}${path}`, { method })).status).toBe(status)
  })
})

test('requests leave no line in the log, unless something is wrong', async () => {
  const lines: string[] = []
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(line) })
  const { ask } = await aGateway([answer('{}'), answer('no', 429)], { log, isHeard: false })
  for (let i = 0; i < 20; i += 1) await (await ask()).text()
  await ask({ model: 'none' })
  expect(lines).toEqual([])
})
