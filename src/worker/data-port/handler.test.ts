import { describe, expect, test } from 'vitest'
import { MODEL_HEADER, REFUSAL_HEADER, replicaPath, RUN_PATH } from '../../api/data-port.ts'
import { RUN_HEADER } from '../../api/node-run.ts'
import { readBody } from '../../http/server.ts'
import { serve } from '../../../test/support/http/http.ts'
import { until } from '../../../test/support/until.ts'
import { healthHandler } from './handler.ts'
import { aDataPort, askRaw, gatewayHeaders } from '../../../test/support/worker/data-port.ts'

const path = `${replicaPath('r', 7)}/v1/x`

describe('the data port refuses', () => {
  test.each([
    ['no key', path, { authorization: '' }, 401, 'needs the data key'],
    ['a wrong key', path, { authorization: 'Bearer wrong' }, 401, 'The key is wrong'],
    ['a replica that is not here', `${replicaPath('other', 7)}/v1/x`, {}, 404, 'no replica other on this node'],
    ['another generation', `${replicaPath('r', 6)}/v1/x`, {}, 404, 'in generation 7, not 6'],
    ['a replica without a path', replicaPath('r', 7), {}, 404, 'serves /replicas/'],
    ['anything else', '/v1/x', {}, 404, 'serves /replicas/'],
    [
      'another model',
      path,
      { [MODEL_HEADER]: 'llama%2F%C3%BC' },
      409,
      'Replica m#0 serves the model "m", not "llama/ü".',
    ],
    ['a model that is no name', path, { [MODEL_HEADER]: '%' }, 400, 'not a percent-encoded name'],
  ])('%s', async (_, target, headers, status, message) => {
    const { url, replica } = await aDataPort(() => expect.unreachable())
    const response = await fetch(`${url}${target}`, { headers: { ...gatewayHeaders, ...headers } })
    expect([response.status, response.headers.has(REFUSAL_HEADER)]).toEqual([status, true])
    expect(await response.text()).toContain(JSON.stringify(message).slice(1, -1))
    expect(replica.begun).toBe(0)
  })

  test.each([
    ['loading', 'model_not_ready', 'Replica m#0 is loading, not ready.'],
    ['failed', 'model_not_ready', 'Replica m#0 is failed, not ready.'],
    ['draining', 'unavailable', 'Replica m#0 is draining and takes no new requests.'],
    ['stopping', 'unavailable', 'Replica m#0 is stopping and takes no new requests.'],
  ])('a replica that is %s', async (state, code, message) => {
    const { ask, replica } = await aDataPort(() => expect.unreachable())
    replica.state = state
    const response = await ask()
    expect([response.status, response.headers.has(REFUSAL_HEADER)]).toEqual([503, true])
    expect(await response.json()).toMatchObject({ error: { code, message, state } })
    expect(replica.begun).toBe(0)
  })

  test('everybody while the node has no key yet', async () => {
    const { ask } = await aDataPort(() => expect.unreachable(), { dataKey: () => undefined })
    expect((await ask()).status).toBe(401)
  })

  test('in the middle of a long upload, and is understood', async () => {
    const { ask, replica } = await aDataPort(() => expect.unreachable())
    replica.state = 'draining'
    const response = await ask('/v1/x', { method: 'POST', body: Buffer.alloc(16 * 1024 * 1024) })
    expect(await response.text()).toContain('is draining')
  })
})

test('a model’s name may be any text', async () => {
  const { ask, replica } = await aDataPort((_, response) => void response.end('yes'))
  replica.spec.model_name = 'org/modèle #1 50%'
  const response = await ask('/v1/x', { headers: { [MODEL_HEADER]: encodeURIComponent(replica.spec.model_name) } })
  expect(await response.text()).toBe('yes')
})

test('who does not name a model has named the replica, and that is enough', async () => {
  const { url } = await aDataPort((_, response) => void response.end('yes'))
  expect(await (await fetch(url + path, { headers: { authorization: 'Bearer right' } })).text()).toBe('yes')
})

describe('the model’s name that an engine wants', () => {
  async function anEngineOf(requestModel: string) {
    const port = await aDataPort(async (request, response) => {
      const body = (await readBody(request, 1e9)).toString('latin1')
      response.end(JSON.stringify({ body, length: request.headers['content-length'] }))
    })
    port.replica.requestModel = requestModel
    const post = async (body: RequestInit['body'], headers: Record<string, string> = {}) =>
      (await port.ask('/v1/x', { method: 'POST', body: body ?? null, headers })).json()
    return { ...port, post }
  }

  test('replaces the one in the body, and nothing else', async () => {
    const { post } = await anEngineOf('/models/m.gguf')
    expect(await post('{ "model": "m", "seed": 12345678901234567890 }')).toEqual({
      body: '{ "model": "/models/m.gguf", "seed": 12345678901234567890 }',
      length: '59',
    })
  })

  test('replaces it in a body that comes without its length', async () => {
    const { url } = await anEngineOf('other')
    const headers = { ...gatewayHeaders, 'transfer-encoding': 'chunked' }
    const answer = await askRaw(url + path, { method: 'POST', headers }, (outgoing) => {
      outgoing.write('{"mod')
      outgoing.end('el":"m"}')
    })
    expect(JSON.parse(answer.text)).toEqual({ body: '{"model":"other"}', length: '17' })
  })

  test('leaves forms and files alone', async () => {
    const { post } = await anEngineOf('other')
    const audio = { 'content-type': 'audio/wav' }
    expect(await post('{"model":"m"}', audio)).toMatchObject({ body: '{"model":"m"}' })
    const form = new FormData()
    form.set('model', 'm')
    expect(await post(form)).toMatchObject({ body: expect.stringContaining('name="model"\r\n\r\nm\r\n') as string })
  })

  test('leaves what is no JSON alone, and requests without a body', async () => {
    const { post, ask } = await anEngineOf('other')
    expect(await post('"model":"m"')).toMatchObject({ body: '"model":"m"' })
    expect(await (await ask()).json()).toEqual({ body: '' })
  })

  test('is not put into a body above the limit: 413', async () => {
    const { url, replica } = await anEngineOf('other')
    const headers = { ...gatewayHeaders, 'content-length': String(64 * 1024 * 1024 + 1) }
    const answer = await askRaw(url + path, { method: 'POST', headers }, (outgoing) => outgoing.flushHeaders())
    expect(answer).toMatchObject({ status: 413, isRefusal: true })
    expect(replica.inFlight).toBe(0)
  })

  test('counts from the first byte of the body on, also when the engine ends meanwhile', async () => {
    const { url, replica } = await anEngineOf('other')
    const headers = { ...gatewayHeaders, 'content-length': '13' }
    const answer = askRaw(url + path, { method: 'POST', headers }, (outgoing) => {
      outgoing.write('{"model"')
      void until(() => replica.inFlight === 1).then(() => {
        replica.state = 'failed'
        replica.port = undefined
        outgoing.end(':"m"}')
      })
    })
    expect(await answer).toMatchObject({ status: 503, isRefusal: true })
    expect(replica.inFlight).toBe(0)
  })

  test('a request that was accepted is served although its replica drains by now', async () => {
    const { url, replica } = await anEngineOf('other')
    const headers = { ...gatewayHeaders, 'content-length': '13' }
    const answer = askRaw(url + path, { method: 'POST', headers }, (outgoing) => {
      outgoing.write('{"model"')
      void until(() => replica.inFlight === 1).then(() => {
        replica.state = 'draining'
        outgoing.end(':"m"}')
      })
    })
    expect(JSON.parse((await answer).text)).toMatchObject({ body: '{"model":"other"}' })
  })
})

describe('besides', () => {
  test('who is on this machine may ask how the worker is, without a key', async () => {
    let problem: string | undefined = 'waiting for approval'
    const { url } = await aDataPort(() => {}, { dataKey: () => undefined, checks: { worker: () => problem } })
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    const response = await fetch(`${url}/readyz`)
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ checks: { worker: 'waiting for approval' } })
    problem = undefined
    expect((await fetch(`${url}/readyz`, { method: 'HEAD' })).status).toBe(200)
  })

  test('a listener for health alone has nothing else', async () => {
    const url = await serve(healthHandler({ worker: () => 'no bus' }))
    const statusOf = async (at: string, method = 'GET') => (await fetch(url + at, { method })).status
    expect(await statusOf('/healthz')).toBe(200)
    expect(await statusOf('/readyz')).toBe(503)
    expect(await statusOf('/readyz', 'POST')).toBe(405)
    expect(await statusOf(path)).toBe(404)
  })

  test('other paths may be served behind the same key', async () => {
    const { url } = await aDataPort(() => {}, {
      extra: (_, response, at) => {
        if (at === '/logs') response.end('lines')
        return Promise.resolve(at === '/logs')
      },
    })
    expect(await (await fetch(`${url}/logs?after=1`, { headers: gatewayHeaders })).text()).toBe('lines')
    expect((await fetch(`${url}/other`, { headers: gatewayHeaders })).status).toBe(404)
    expect((await fetch(`${url}/logs`)).status).toBe(401)
  })
})

test('whoever has the key is told which run of the worker this is', async () => {
  const { url } = await aDataPort(() => expect.unreachable(), { runId: 'run1' })
  const told = await fetch(`${url}${RUN_PATH}`, { headers: gatewayHeaders })
  expect([told.status, told.headers.get(RUN_HEADER)]).toEqual([204, 'run1'])
  const stranger = await fetch(`${url}${RUN_PATH}`)
  expect([stranger.status, stranger.headers.get(RUN_HEADER)]).toEqual([401, null])
})
