import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI, { APIConnectionTimeoutError, APIUserAbortError, AuthenticationError, NotFoundError } from 'openai'
import { expect, test } from 'vitest'
import { tempFolder } from './support/temp-folder.ts'
import { until } from './support/until.ts'
import {
  aClient,
  addModel,
  checkAbort,
  checkAnswers,
  inFlight,
  isReady,
  messages,
  replicasOf,
  retried,
} from './openai-suite.ts'
import { checkOllama } from './ollama-suite.ts'

test('chat, stream, usage, stop texts, embeddings and the list of models', async () => {
  const { up, client, key } = await aClient()
  const listed = []
  for await (const model of client.models.list()) listed.push(model)
  expect(listed).toMatchObject([{ id: 'sim', object: 'model' }])
  expect(await client.models.retrieve('sim')).toMatchObject({ id: 'sim' })
  await checkAnswers(client, 'sim')
  await checkOllama(up.url, key, 'sim')
})

test('each token of a stream is an event of its own', async () => {
  const { client } = await aClient()
  const stream = await client.chat.completions.create({ model: 'sim', messages, max_tokens: 8, stream: true })
  const parts: string[] = []
  for await (const { choices } of stream) parts.push(choices[0]?.delta.content ?? '')
  expect(parts.filter((part) => part !== '')).toHaveLength(8)
})

/** Answers every chat with a call of a tool, whose argument is the request as it arrived. */
const ECHO = `
require('node:http').createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const text = JSON.stringify({ body: Buffer.concat(chunks).toString(), headers: request.headers })
    const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: text } }
    const message = { role: 'assistant', content: null, tool_calls: [call] }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'tool_calls' }], of_its_own: { kept: true } }))
  })
}).listen(Number(process.argv[2]), '127.0.0.1')`

test('tools and fields that Flotilla does not know reach the engine, and its own come back; of the headers those on the list do', async () => {
  const { up, client, key } = await aClient()
  const program = join(tempFolder(), 'echo.cjs')
  writeFileSync(program, ECHO)
  await addModel(up, 'echo', 'command', { command: `exec ${process.execPath} ${program} {{port}}` })
  await until(() => isReady(up, 'echo'))
  const parameters = { type: 'object', properties: { city: { type: 'string' } } }
  const tools = [{ type: 'function' as const, function: { name: 'weather', parameters } }]
  const unknown = { chat_template_kwargs: { enable_thinking: false }, größe: 1.5 }
  const ask = () =>
    client.chat.completions.create(
      { model: 'echo', messages, tools, tool_choice: 'auto', ...unknown },
      { headers: { 'openai-project': 'mine', 'x-of-my-own': 'secret', cookie: 'flotilla_session=fls_secret' } },
    )
  const answer = await retried(ask)
  expect(answer).toMatchObject({ of_its_own: { kept: true }, choices: [{ finish_reason: 'tool_calls' }] })
  const [call] = answer.choices[0]!.message.tool_calls!
  const arrived = JSON.parse(call!.type === 'function' ? call!.function.arguments : '') as {
    body: string
    headers: Record<string, string>
  }
  expect(JSON.parse(arrived.body)).toEqual({ model: 'echo', messages, tools, tool_choice: 'auto', ...unknown })
  expect(arrived.headers).toMatchObject({
    'openai-project': 'mine',
    'user-agent': expect.stringContaining('OpenAI/JS'),
  })
  expect(JSON.stringify(arrived.headers)).not.toContain(key)
  expect(JSON.stringify(arrived.headers)).not.toContain('secret')
})

test('an abort in the middle of a stream reaches the engine', async () => {
  const { up, client } = await aClient()
  await addModel(up, 'slow', 'sim', { ttft_ms: 0, tokens_per_s: 5 })
  await until(() => isReady(up, 'slow'))
  await until(async () => (await client.models.list()).data.some(({ id }) => id === 'slow'))
  await checkAbort(up, client, 'slow')

  // Before the first byte, too.
  const early = new AbortController()
  await addModel(up, 'thinking', 'sim', { ttft_ms: 60_000 })
  await until(() => isReady(up, 'thinking'))
  const waiting = retried(() =>
    client.chat.completions.create({ model: 'thinking', messages }, { signal: early.signal }),
  )
  await until(async () => (await inFlight(up, 'thinking')) === 1)
  early.abort()
  await expect(waiting).rejects.toThrow(APIUserAbortError)
  await until(async () => (await inFlight(up, 'thinking')) === 0)
})

test("a client's timeout ends the request on the engine", async () => {
  const { up, client } = await aClient()
  await addModel(up, 'thinking', 'sim', { ttft_ms: 60_000 })
  await until(() => isReady(up, 'thinking'))
  const asked = { model: 'thinking', messages }
  await expect(retried(() => client.chat.completions.create(asked, { timeout: 1000 }))).rejects.toThrow(
    APIConnectionTimeoutError,
  )
  await until(async () => (await inFlight(up, 'thinking')) === 0)
  // The replica is none the worse for it.
  expect(await replicasOf(up, 'thinking')).toMatchObject([{ state: 'ready' }])
})

test('the retries of the client bring it over the start of a model', async () => {
  const answers: { status: number; retryAfter: string | null }[] = []
  const { up, client } = await aClient(
    {
      async fetch(url, init) {
        const response = await fetch(url, init)
        answers.push({ status: response.status, retryAfter: response.headers.get('retry-after') })
        return response
      },
    },
    '--model-load-wait',
    '1',
  )
  await addModel(up, 'late', 'sim', { ttft_ms: 0, tokens_per_s: 0, load_ms: 5000 })
  const listed = async () => (await client.models.list()).data as { id: string; state?: string }[]
  await until(async () => (await listed()).some(({ id, state }) => id === 'late' && state === 'starting'))
  answers.length = 0
  const asked = { model: 'late', messages, max_tokens: 3 }
  const { choices } = await client.chat.completions.create(asked, { maxRetries: 20 })
  expect(choices).toHaveLength(1)
  expect(answers[0]).toEqual({ status: 503, retryAfter: '5' })
  expect(answers.at(-1)).toMatchObject({ status: 200 })
})

test('errors are those that the client has classes for', async () => {
  const { up, client } = await aClient()
  const missing = await client.chat.completions.create({ model: 'sym', messages }).catch((error: unknown) => error)
  expect(missing).toBeInstanceOf(NotFoundError)
  expect(missing).toMatchObject({
    status: 404,
    code: 'model_not_found',
    param: 'model',
    type: 'invalid_request_error',
    message: expect.stringContaining('"sim"'),
  })
  const stranger = new OpenAI({ baseURL: `${up.url}/v1`, apiKey: 'fk_wrong', maxRetries: 0 })
  const refused = await stranger.chat.completions.create({ model: 'sim', messages }).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(AuthenticationError)
  // The client insists on some key; on this machine any text that is none of ours will do.
  const local = new OpenAI({ baseURL: `${up.url}/v1`, apiKey: 'not-needed', maxRetries: 0 })
  expect((await local.models.list()).data[0]?.id).toBe('sim')
  expect(String(refused)).not.toContain('fk_wrong')
})
