import { expect, test } from 'vitest'
import { aGateway, answer, aRoutedModel } from '../../../test/support/gateway/gateway-stage.ts'

const models = [aRoutedModel(), aRoutedModel({ name: 'org/cold', state: 'starting', engine: 'vllm' })]
const cold = {
  id: 'org/cold',
  object: 'model',
  created: 1000,
  owned_by: 'flotilla',
  engine: 'vllm',
  state: 'starting',
  ready_replicas: 0,
}

test('the models are listed with their state and how many replicas can serve', async () => {
  const { url } = await aGateway([answer('{}')], { models })
  const m = { ...cold, id: 'm', engine: 'sim', state: 'ready', ready_replicas: 1 }
  for (const path of ['/v1/models', '/v1/models/', '/v1/models?limit=5']) {
    expect(await (await fetch(url + path)).json()).toEqual({ object: 'list', data: [m, cold] })
  }
  expect((await fetch(`${url}/v1/models`, { method: 'HEAD' })).status).toBe(200)
})

test.each(['org%2Fcold', 'org/cold'])('one of them by its name: %s', async (name) => {
  const { url } = await aGateway([], { models })
  expect(await (await fetch(`${url}/v1/models/${name}`)).json()).toEqual(cold)
})

test.each([
  ['none', 404],
  ['org%2Fcol', 404],
  ['%ff', 400],
])('%s is %i', async (name, status) => {
  const { url } = await aGateway([], { models })
  const response = await fetch(`${url}/v1/models/${name}`)
  expect([response.status, response.headers.get('content-type')]).toEqual([status, 'application/json; charset=utf-8'])
})

test('a key sees the models that it may use, and no others', async () => {
  const { url } = await aGateway([], { models, caller: { keyId: 'k', models: ['org/cold', 'org/later'] } })
  expect(await (await fetch(`${url}/v1/models`)).json()).toEqual({ object: 'list', data: [cold] })
  expect((await fetch(`${url}/v1/models/m`)).status).toBe(403)
  const near = await (await fetch(`${url}/v1/models/org/later`)).text()
  expect(near).toContain('GET /v1/models lists')
})

test('only near names that the key may use are suggested', async () => {
  const all = ['llama-1', 'llama-2', 'llama-3'].map((name) => aRoutedModel({ name }))
  const { url } = await aGateway([], { models: all, caller: { keyId: 'k', models: ['llama-2', 'llama-4'] } })
  expect(await (await fetch(`${url}/v1/models/llama-4`)).text()).toContain('Did you mean \\"llama-2\\"?')
})
