import { describe, expect, test } from 'vitest'
import { aGateway, answer, aRoutedModel, counted, errorOf } from '../../../test/support/gateway/gateway-stage.ts'

const stage = async () => {
  const { url, ...rest } = await aGateway([answer('served')])
  const ask = (method: string, path: string, body?: string) => fetch(url + path, { method, body: body ?? null })
  return { ...rest, ask }
}

test.each([
  ['GET', '/v1/chat/completions', 'POST'],
  ['GET', '/v1/embeddings?x=1', 'POST'],
  ['DELETE', '/v1/messages', 'POST'],
  ['OPTIONS', '/v1/audio/speech', 'POST'],
  ['POST', '/v1/models', 'GET, HEAD'],
  ['DELETE', '/v1/models/m', 'GET, HEAD'],
  ['GET', '/api/chat', 'POST'],
  ['POST', '/api/tags', 'GET, HEAD'],
])('%s %s is refused with the methods that it takes', async (method, path, allow) => {
  const { ask } = await stage()
  const response = await ask(method, path)
  expect([response.status, response.headers.get('allow')]).toEqual([405, allow])
})

test.each([
  ['POST', '/v1/chat/completion', '{}', '/v1/chat/completions'],
  ['POST', '/v1/chat/completions/', '{"messages":[]}', '/v1/chat/completions'],
  ['GET', '/v1/embedding', undefined, '/v1/embeddings'],
])('%s %s says which path was meant', async (method, path, body, meant) => {
  const { ask } = await stage()
  const response = await ask(method, path, body)
  const { message } = await errorOf(response)
  expect([response.status, message]).toEqual([
    404,
    expect.stringContaining(`There is no ${path}. Did you mean ${meant}`),
  ])
})

test('a path that nobody knows is served by the model that is named, and else refused as before', async () => {
  const { ask } = await stage()
  expect(await (await ask('POST', '/v1/chat/completion', '{"model":"m"}')).text()).toBe('served')
  expect((await errorOf(await ask('POST', '/v1/something-else', '{}'))).message).toContain('which model')
  expect((await ask('GET', '/v1/something-else')).status).toBe(404)
})

describe('a path that the engine of the model does not answer', () => {
  const models = [aRoutedModel({ engine: 'llama', serves: ['/v1/chat/completions', '/v1/embeddings'] })]
  const refusal = 'm runs on the engine llama, which does not serve /v1/audio/speech.'

  test('is refused by the gateway, and no engine is asked', async () => {
    const worker = counted(answer('served'))
    const { post, ask } = await aGateway([worker], { models })
    for (let i = 0; i < 3; i += 1) {
      const response = await post('/v1/audio/speech', { model: 'm', input: 'Hi' }, JSON_TYPE)
      expect([response.status, await errorOf(response)]).toEqual([
        400,
        expect.objectContaining({ message: expect.stringContaining(refusal), code: 'path_not_served' }),
      ])
    }
    expect(worker.requests).toBe(0)
    expect(await (await ask({ model: 'm' }, JSON_TYPE)).text()).toBe('served')
  })

  test('is refused in the shape of its API', async () => {
    const { post } = await aGateway([answer('served')], { models })
    expect(await (await post('/v1/messages', { model: 'm' })).json()).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', message: expect.stringContaining('does not serve /v1/messages') },
    })
  })

  test('and looks like one that it does answer: that one is named', async () => {
    const { post } = await aGateway([answer('served')], { models })
    const { message } = await errorOf(await post('/v1/chat/completion', { model: 'm' }))
    expect(message).toContain('Did you mean /v1/chat/completions?')
  })

  test('is asked for all the same where the engine may answer more than is known', async () => {
    const { post } = await aGateway([answer('served')])
    expect(await (await post('/v1/audio/speech', { model: 'm' })).text()).toBe('served')
  })
})

const JSON_TYPE = { headers: { 'content-type': 'application/json' } }

test('a path of any length is compared in no time', async () => {
  const { ask } = await stage()
  expect((await ask('GET', `/v1/${'x'.repeat(8000)}`)).status).toBe(404)
})
