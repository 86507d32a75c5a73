import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { MOST_BODY_BYTES } from '../lib/body.ts'
import { endlessly, instantly, startSim } from './testing/start-sim.ts'
import { eventually, get, post, readEvents, stateOf, streamOf } from './testing/sim-client.ts'

const messages = [{ role: 'user', content: 'Is anybody there?' }]

test('a chat completion has the shape of OpenAI', async () => {
  await using sim = await startSim([...instantly, '--model', 'my-model'])
  const { status, body } = await post(`${sim.url}/v1/chat/completions`, { model: 'whatever', messages })
  expect(status).toBe(200)
  expect(body).toMatchObject({
    id: expect.stringMatching(/^chatcmpl-/),
    object: 'chat.completion',
    created: expect.any(Number),
    model: 'my-model',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: expect.stringMatching(/^Flotilla works end to end/) },
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: expect.any(Number), prompt_tokens_details: { cached_tokens: 0 } },
  })
  expect(body.usage.total_tokens).toBe(body.usage.prompt_tokens + body.usage.completion_tokens)
})

test('a streamed chat is the plain answer in pieces', async () => {
  await using sim = await startSim(instantly)
  const url = `${sim.url}/v1/chat/completions`
  const plain = await post(url, { messages, seed: 7 })
  const streamed = await streamOf(url, { messages, seed: 7, stream_options: { include_usage: true } })
  expect(streamed.type).toBe('text/event-stream; charset=utf-8')
  const events = await readEvents(streamed)
  expect(events.at(-1)).toBe('[DONE]')
  const chunks = events.slice(0, -1).map((data) => JSON.parse(data))
  expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1)
  expect(chunks[0]).toMatchObject({
    object: 'chat.completion.chunk',
    choices: [{ delta: { role: 'assistant', content: '' }, finish_reason: null }],
    usage: null,
  })
  const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')
  expect(text).toBe(plain.body.choices[0].message.content)
  expect(chunks.at(-2)).toMatchObject({ choices: [{ delta: {}, finish_reason: 'stop' }] })
  expect(chunks.at(-1)).toMatchObject({
    choices: [],
    usage: {
      completion_tokens: plain.body.usage.completion_tokens,
      // The same prompt was read a moment ago.
      prompt_tokens_details: { cached_tokens: plain.body.usage.prompt_tokens },
    },
  })
})

test('text completions, plain and streamed, with stop and a limit', async () => {
  await using sim = await startSim(instantly)
  const url = `${sim.url}/v1/completions`
  const limited = await post(url, { prompt: 'Hello', max_tokens: 3 })
  expect(limited.body).toMatchObject({
    id: expect.stringMatching(/^cmpl-/),
    object: 'text_completion',
    choices: [{ text: 'Flotilla works end', finish_reason: 'length' }],
    usage: { prompt_tokens: 1, completion_tokens: 3, total_tokens: 4 },
  })
  const stopped = await post(url, { prompt: 'Hello', stop: [' end to'] })
  expect(stopped.body.choices[0]).toMatchObject({ text: 'Flotilla works', finish_reason: 'stop' })
  const events = await readEvents(await streamOf(url, { prompt: 'Hello', max_tokens: 3 }))
  const chunks = events.slice(0, -1).map((data) => JSON.parse(data).choices[0])
  expect(chunks.map((choice) => [choice.text, choice.finish_reason])).toEqual([
    ['Flotilla', null],
    [' works', null],
    [' end', null],
    ['', 'length'],
  ])
})

test('two engines with the same model give the same answer', async () => {
  await using one = await startSim([...instantly, '--seed', '5'])
  await using two = await startSim([...instantly, '--seed', '5'])
  const ask = { messages, max_tokens: 300 }
  const [a, b] = await Promise.all([one, two].map((sim) => post(`${sim.url}/v1/chat/completions`, ask)))
  expect(a?.body.choices).toEqual(b?.body.choices)
})

test('embeddings, as numbers and as base64', async () => {
  await using sim = await startSim(instantly)
  const url = `${sim.url}/v1/embeddings`
  const numbers = await post(url, { input: ['calm sea', 'rough sea'], dimensions: 16 })
  expect(numbers.body).toMatchObject({
    object: 'list',
    data: [{ index: 0 }, { index: 1 }],
    usage: { prompt_tokens: 4 },
  })
  const packed = await post(url, { input: 'calm sea', dimensions: 16, encoding_format: 'base64' })
  const bytes = Buffer.from(packed.body.data[0].embedding, 'base64')
  expect(numbers.body.data[0].embedding.map((_: number, index: number) => bytes.readFloatLE(index * 4))).toEqual(
    numbers.body.data[0].embedding,
  )
})

test('models and health say what runs here', async () => {
  await using sim = await startSim([...instantly, '--model', 'm', '--parallel', '3', '--memory-bytes', '5000000000'])
  expect((await get(`${sim.url}/v1/models`)).body).toMatchObject({
    object: 'list',
    data: [{ id: 'm', object: 'model' }],
  })
  expect(await get(`${sim.url}/health?verbose=1`)).toMatchObject({
    status: 200,
    body: { status: 'ok', slots: 3, in_use: 0, queued: 0, memory_bytes: 5_000_000_000 },
  })
})

test('while loading it says so, and it is ready in the end', async () => {
  await using sim = await startSim([...instantly, '--load-ms', '3600000'])
  expect(await get(`${sim.url}/health`)).toMatchObject({
    status: 503,
    body: { status: 'loading', progress: expect.any(Number) },
  })
  expect(await post(`${sim.url}/v1/chat/completions`, { messages })).toMatchObject({
    status: 503,
    retryAfter: '1',
    body: { error: { type: 'server_error', code: 'model_loading' } },
  })
  await post(`${sim.url}/sim/load`, {})
  expect(await get(`${sim.url}/health`)).toMatchObject({ status: 200, body: { status: 'ok' } })

  await using quick = await startSim([...instantly, '--load-ms', '20'])
  await eventually(async () => expect((await get(`${quick.url}/health`)).status).toBe(200))
})

test('what is wrong with a request is said in the shape of OpenAI', async () => {
  await using sim = await startSim([...instantly, '--context', '20'])
  const url = `${sim.url}/v1/chat/completions`
  const error = (message: unknown, param: string | null, code: string | null) => ({
    error: { message, type: 'invalid_request_error', param, code },
  })
  expect(await post(url, '{"messages":')).toMatchObject({
    status: 400,
    body: error('The body is not valid JSON.', null, 'invalid_json'),
  })
  expect(await post(url, { messages: 'hi' })).toMatchObject({
    status: 400,
    body: error(expect.any(String), 'messages', null),
  })
  expect(await post(url, { messages, n: 2 })).toMatchObject({ status: 400, body: { error: { param: 'n' } } })
  expect(await post(url, { messages: [{ role: 'user', content: 'word '.repeat(50) }] })).toMatchObject({
    status: 400,
    body: error(expect.stringContaining('maximum context length is 20 tokens'), 'messages', 'context_length_exceeded'),
  })
  expect(await get(`${sim.url}/v1/images`)).toMatchObject({ status: 404, body: { error: { code: 'unknown_url' } } })
  expect(await get(url)).toMatchObject({ status: 405, body: { error: { code: 'method_not_allowed' } } })
})

test('a body over the limit is refused, and the engine lives on', async () => {
  await using sim = await startSim(instantly)
  const url = `${sim.url}/v1/completions`
  const fits = JSON.stringify({ prompt: 'Hello', max_tokens: 1, pad: '' })
  const pad = (bytes: number): string => fits.replace('""', `"${'x'.repeat(bytes - fits.length)}"`)
  expect((await post(url, pad(MOST_BODY_BYTES + 1))).status).toBe(413)
  expect((await post(url, pad(MOST_BODY_BYTES))).status).toBe(200)
})

test('a client that leaves frees its slot, and leaves the queue', async () => {
  await using sim = await startSim([...endlessly, '--parallel', '1', '--queue', '1'])
  const url = `${sim.url}/v1/chat/completions`
  const running = await streamOf(url, { messages })
  const waiting = new AbortController()
  const queued = post(url, { messages }, waiting.signal)
  await eventually(async () => expect(await stateOf(sim)).toMatchObject({ in_flight: 1, queued: 1 }))
  expect(await post(url, { messages })).toMatchObject({
    status: 429,
    retryAfter: '1',
    body: { error: { type: 'rate_limit_error', code: 'queue_full' } },
  })
  waiting.abort()
  await expect(queued).rejects.toThrow('abort')
  await eventually(async () => expect(await stateOf(sim)).toMatchObject({ in_flight: 1, queued: 0, aborted: 1 }))
  running.leave()
  await eventually(async () =>
    expect(await stateOf(sim)).toMatchObject({ requests: 3, in_flight: 0, queued: 0, aborted: 2, rejected: 1 }),
  )
})

test('a conversation finds its earlier turns in the prefix cache', async () => {
  await using sim = await startSim(instantly)
  const url = `${sim.url}/v1/chat/completions`
  const first = await post(url, { messages })
  const answer = first.body.choices[0].message
  const next = [...messages, { role: 'assistant', content: answer.content }, { role: 'user', content: 'Go on.' }]
  const second = await post(url, { messages: next })
  const { prompt_tokens: read, completion_tokens: written } = first.body.usage
  expect(second.body.usage.prompt_tokens_details.cached_tokens).toBe(read + written)
  expect(await stateOf(sim)).toMatchObject({ prefix_hits: 1, requests: 2, finished: 2 })
})

test('a reader that does not read stops the writing, and gets everything in order when it does', async () => {
  await using sim = await startSim(instantly)
  // More than the buffers between two processes hold: each token is an event of some 200 bytes.
  const ask = { prompt: 'Hello', max_tokens: 100_000, ignore_eos: true }
  const stream = await streamOf(`${sim.url}/v1/completions`, ask)
  const written = async (): Promise<number> => (await stateOf(sim))['completion_tokens'] as number
  await eventually(async () => expect(await written()).toBe(await written()))
  expect(await stateOf(sim)).toMatchObject({ in_flight: 1 })
  expect(await written()).toBeLessThan(100_000)
  const events = await readEvents(stream)
  const pieces = events.slice(0, -2).map((data) => JSON.parse(data).choices[0].text)
  expect(pieces).toHaveLength(100_000)
  const plain = await post(`${sim.url}/v1/completions`, ask)
  expect(pieces.join('')).toBe(plain.body.choices[0].text)
})

test('a connection is kept for the next request', async () => {
  await using sim = await startSim(instantly)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = (path: string): Promise<boolean> =>
    new Promise((resolve, reject) => {
      const asked = request(`${sim.url}${path}`, { agent }, (response) => {
        response.resume().on('end', () => resolve(asked.reusedSocket))
      })
      asked.on('error', reject).end()
    })
  expect([await ask('/health'), await ask('/nowhere'), await ask('/health')]).toEqual([false, true, true])
  agent.destroy()
})

test('what is not HTTP gets a 400 and harms nobody', async () => {
  await using sim = await startSim(instantly)
  const { port } = new URL(sim.url)
  const answer = await new Promise<string>((resolve, reject) => {
    let text = ''
    const socket = connect(Number(port), '127.0.0.1', () => socket.write('ahoy\r\n\r\n'))
    socket.on('data', (chunk) => (text += chunk.toString()))
    socket.on('end', () => resolve(text)).on('error', reject)
  })
  expect(answer).toMatch(/^HTTP\/1.1 400 /)
  expect((await get(`${sim.url}/health`)).status).toBe(200)
})
