import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { readBody, type Handler } from '../../http/server.ts'
import {
  aGateway,
  answer,
  aRoutedModel,
  breakOff,
  counted,
  hangUp,
  refuseWith,
} from '../../../test/support/gateway/gateway-stage.ts'

const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`
const delta = (fields: object, rest: object = {}) => event({ choices: [{ delta: fields, ...rest }] })
const usage = { prompt_tokens: 5, completion_tokens: 2 }
const ENDED = `${event({ choices: [], usage })}data: [DONE]\n\n`
const hello = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] }

/** Answers with these bytes in pieces of this many, and keeps what it was asked. */
function anEngine(text: string, type = 'text/event-stream', pieceBytes = 7) {
  const asked: { url: string; body: Record<string, unknown>; headers: Record<string, unknown> }[] = []
  const worker: Handler = async (request, response) => {
    const body = JSON.parse((await readBody(request, 1e6)).toString()) as Record<string, unknown>
    asked.push({ url: request.url!, body, headers: request.headers })
    response.writeHead(200, { 'content-type': type })
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      response.write(bytes.subarray(at, at + pieceBytes))
      await sleep(0)
    }
    response.end()
  }
  return { worker, asked }
}

async function recordsOf(response: Response): Promise<Record<string, unknown>[]> {
  const text = await response.text()
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

describe('a streamed chat', () => {
  test('comes record by record, with counts and durations in the last', async () => {
    const stream = delta({ role: 'assistant' }) + delta({ content: 'Grü' }) + delta({ content: 'ße' })
    const { worker, asked } = anEngine(`${stream}${delta({}, { finish_reason: 'length' })}${ENDED}`)
    const { post } = await aGateway([worker])
    const response = await post('/api/chat', hello)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/x-ndjson'])
    expect(response.headers.get('x-request-id')).toMatch(/./)
    const records = await recordsOf(response)
    const said = records.map(({ message }) => message)
    expect(said.slice(0, 2)).toEqual([
      { role: 'assistant', content: 'Grü' },
      { role: 'assistant', content: 'ße' },
    ])
    expect(records.map(({ done }) => done)).toEqual([false, false, true])
    expect(records.at(-1)).toMatchObject({
      model: 'm',
      message: { role: 'assistant', content: '' },
      done_reason: 'length',
      prompt_eval_count: 5,
      eval_count: 2,
      load_duration: 0,
      total_duration: expect.any(Number),
      eval_duration: expect.any(Number),
      created_at: expect.stringMatching(/Z$/),
    })
    expect(asked[0]).toMatchObject({ url: expect.stringMatching(/\/v1\/chat\/completions$/), body: { model: 'm' } })
    expect(asked[0]!.headers['accept-encoding'] ?? 'identity').toBe('identity')
  })

  test('tells thoughts and whole calls of tools', async () => {
    const call = (fields: object) => delta({ tool_calls: [{ index: 0, ...fields }] })
    const pieces = [
      delta({ reasoning_content: 'Hm.' }),
      call({ id: 'c1', function: { name: 'weather', arguments: '{"city":' } }),
      call({ function: { arguments: '"Bonn"}' } }),
      delta({}, { finish_reason: 'tool_calls' }),
    ]
    const { worker } = anEngine(`${pieces.join('')}${ENDED}`)
    const { post } = await aGateway([worker])
    const [thought, last] = await recordsOf(await post('/api/chat', hello))
    expect(thought!['message']).toEqual({ role: 'assistant', content: '', thinking: 'Hm.' })
    expect(last).toMatchObject({ done: true, done_reason: 'stop' })
    expect(last!['message']).toMatchObject({
      tool_calls: [{ id: 'c1', function: { name: 'weather', arguments: { city: 'Bonn' } } }],
    })
  })

  test('that breaks off ends with an error, and never as if it were whole', async () => {
    const { post } = await aGateway([breakOff('text/event-stream', delta({ content: 'Hel' }))])
    const records = await recordsOf(await post('/api/chat', hello))
    expect(records.at(-1)).toEqual({ error: expect.stringContaining('stopped in the middle') })
    expect(records.some(({ done }) => done === true)).toBe(false)
  })

  test('goes to the next replica when one hangs up or refuses, as any request does', async () => {
    const { worker } = anEngine(`${delta({ content: 'Hi' })}${ENDED}`)
    const refusing = counted(refuseWith(503))
    const { post, inFlight } = await aGateway([refusing, hangUp, worker])
    expect((await recordsOf(await post('/api/chat', hello))).at(-1)).toMatchObject({ done: true })
    expect(refusing.requests).toBe(1)
    expect(inFlight()).toEqual([0, 0, 0])
  })
})

describe('a whole answer', () => {
  const completion = { choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }], usage }
  const timings = { prompt_ms: 2, predicted_ms: 3 }

  test('is one record, with the durations that the engine measured', async () => {
    const { worker, asked } = anEngine(JSON.stringify({ ...completion, timings }), 'application/json')
    const { post } = await aGateway([worker])
    const response = await post('/api/generate', { model: 'm', prompt: 'Hello', stream: false })
    expect(await response.json()).toMatchObject({
      response: 'Hi',
      done: true,
      done_reason: 'stop',
      prompt_eval_count: 5,
      prompt_eval_duration: 2e6,
      eval_duration: 3e6,
    })
    expect(asked[0]!.body).toMatchObject({ stream: false, messages: hello.messages })
  })

  test('also from an engine that streams nothing', async () => {
    const { worker } = anEngine(JSON.stringify(completion), 'application/json')
    const { post } = await aGateway([worker])
    const [only] = await recordsOf(await post('/api/chat', hello))
    expect(only).toMatchObject({ message: { content: 'Hi' }, done: true })
  })

  test('that is no JSON is an error', async () => {
    const { post } = await aGateway([answer('<html>', 200)])
    const response = await post('/api/chat', { ...hello, stream: false })
    expect([response.status, await response.json()]).toEqual([502, { error: '<html>' }])
  })
})

describe('vectors', () => {
  const vectors = { data: [{ embedding: [1, 2] }, { embedding: [3, 4] }], usage: { prompt_tokens: 9 } }

  test('of several texts, and in the old way of one', async () => {
    const { worker, asked } = anEngine(JSON.stringify(vectors), 'application/json')
    const { post } = await aGateway([worker])
    const answer = await (await post('/api/embed', { model: 'm', input: ['a', 'b'], dimensions: 2 })).json()
    expect(answer).toMatchObject({
      model: 'm',
      embeddings: [
        [1, 2],
        [3, 4],
      ],
      prompt_eval_count: 9,
    })
    expect(asked[0]).toMatchObject({ body: { model: 'm', input: ['a', 'b'], dimensions: 2, encoding_format: 'float' } })
    const old = await (await post('/api/embeddings', { model: 'm', prompt: 'a' })).json()
    expect(old).toEqual({ embedding: [1, 2] })
  })
})

describe('models', () => {
  const models = [aRoutedModel(), aRoutedModel({ name: 'cold:latest', state: 'stopped', engine: 'llama' })]

  test('are listed as far as the key may use them, and those that run apart', async () => {
    const { url } = await aGateway([answer('{}')], { models })
    const get = async (path: string) => (await (await fetch(url + path)).json()) as { models: { name: string }[] }
    const names = async (path: string) => (await get(path)).models.map(({ name }) => name)
    expect([await names('/api/tags'), await names('/api/ps')]).toEqual([['m', 'cold:latest'], ['m']])
    expect((await get('/api/tags')).models[1]).toMatchObject({
      model: 'cold:latest',
      details: { format: 'gguf', family: 'llama' },
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      modified_at: '1970-01-01T00:16:40.000Z',
    })
    const { url: narrow } = await aGateway([answer('{}')], { models, caller: { keyId: 'k', models: ['m'] } })
    expect(await (await fetch(`${narrow}/api/tags`)).json()).toMatchObject({ models: [{ name: 'm' }] })
  })

  test('are known with and without the tag latest', async () => {
    const { worker, asked } = anEngine(`${delta({ content: 'Hi' })}${ENDED}`)
    const { post } = await aGateway([worker], { models })
    const records = await recordsOf(await post('/api/chat', { ...hello, model: 'm:latest' }))
    expect([records[0]!['model'], asked[0]!.body['model']]).toEqual(['m:latest', 'm'])
    const shown = await (await post('/api/show', { name: 'cold' })).json()
    expect(shown).toMatchObject({ capabilities: ['completion', 'tools'], details: { family: 'llama' } })
  })

  test('a key asks for those that it may use only', async () => {
    const { post } = await aGateway([answer('{}')], { models, caller: { keyId: 'k', models: ['cold:latest'] } })
    const response = await post('/api/chat', hello)
    expect([response.status, await response.json()]).toEqual([403, { error: expect.stringContaining('may not use') }])
    expect((await post('/api/show', { model: 'm' })).status).toBe(403)
  })

  test.each(['/api/chat', '/api/generate'])(
    '%s does not tell a key of other models that one is ready',
    async (path) => {
      const { post } = await aGateway([anEngine('').worker], { caller: { keyId: 'k', models: ['x'] } })
      const response = await post(path, { model: 'm' })
      expect([response.status, await response.json()]).toEqual([403, { error: expect.stringContaining('may not use') }])
      expect((await post(path, { model: 'unknown' })).status).toBe(403)
    },
  )

  test('are loaded by a request without words, and unloaded by an admin only', async () => {
    const { post } = await aGateway([answer('{}')])
    const loaded = await post('/api/generate', { model: 'm' })
    expect(await loaded.json()).toMatchObject({ model: 'm', response: '', done: true, done_reason: 'load' })
    const unloading = await post('/api/chat', { model: 'm', messages: [], keep_alive: '0s' })
    expect([unloading.status, await unloading.json()]).toEqual([
      501,
      { error: expect.stringContaining('flotilla models unload m') },
    ])
  })
})

describe('errors are as Ollama has them', () => {
  test.each([
    ['/api/chat', { messages: [] }, 400, '"model" is missing'],
    ['/api/chat', { model: 'mm', messages: hello.messages }, 404, 'Did you mean "m"?'],
    ['/api/chat', { model: 'm', messages: 'x' }, 400, 'messages'],
    ['/api/embed', { model: 'm' }, 400, '"input" is missing'],
    ['/api/chat', '{', 400, 'not valid JSON'],
    ['/api/pull', { model: 'm' }, 501, 'flotilla import ollama'],
  ])('%s %j is %i', async (path, body, status, text) => {
    const { post } = await aGateway([answer('{}')])
    const response = await post(path, body)
    expect([response.status, await response.json()]).toEqual([status, { error: expect.stringContaining(text) }])
  })

  test('what the engine says of a request is passed on in words', async () => {
    const said = JSON.stringify({ error: { message: "'top_k' must be a number.", type: 'invalid_request_error' } })
    const { post } = await aGateway([answer(said, 400)])
    const response = await post('/api/chat', hello)
    expect([response.status, await response.json()]).toEqual([400, { error: "'top_k' must be a number." }])
  })

  test('a model that no replica serves says when to come back', async () => {
    const { post } = await aGateway([], { models: [aRoutedModel({ state: 'stopped' })] })
    const response = await post('/api/chat', hello)
    expect([response.status, await response.json()]).toEqual([503, { error: expect.any(String) }])
    expect(response.headers.get('retry-after')).toMatch(/^\d+$/)
  })

  test('the wrong method is told, and the version asks for nothing', async () => {
    const { url } = await aGateway([])
    expect((await fetch(`${url}/api/chat`)).status).toBe(405)
    expect(await (await fetch(`${url}/api/version`)).json()).toMatchObject({ version: expect.stringMatching(/^\d/) })
  })
})
