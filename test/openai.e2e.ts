import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI, {
  APIConnectionTimeoutError,
  APIUserAbortError,
  AuthenticationError,
  NotFoundError,
  type ClientOptions,
} from 'openai'
import { expect, test } from 'vitest'
import type { KeyCreated, ReplicaView } from '../src/api/admin/schemas.ts'
import { startUp, type Flotilla } from '../src/testing/flotilla.ts'
import { tempFolder } from '../src/testing/temp-folder.ts'
import { until } from '../src/testing/until.ts'

/** The official client against a running `flotilla up`, with a key of its own as an application would have one. */
async function aClient(
  options: ClientOptions = {},
  ...args: string[]
): Promise<{ up: Flotilla; client: OpenAI; key: string }> {
  // Numbers of requests in flight come with heartbeats.
  const up = await startUp({ args: ['--heartbeat-ms', '300', ...args] })
  const { key } = (await up.admin('POST', '/api/keys', { name: 'app' })).body as KeyCreated
  const client = new OpenAI({ baseURL: `${up.url}/v1`, apiKey: key, maxRetries: 0, ...options })
  // Gateways learn of a key through the bus.
  await until(() =>
    client.models.list().then(
      () => true,
      () => false,
    ),
  )
  return { up, client, key }
}

const messages = [{ role: 'user' as const, content: 'Hello' }]

async function addModel(up: Flotilla, name: string, engine: string, options: object): Promise<void> {
  expect((await up.admin('POST', '/api/models', { name, engine, options })).status).toBe(200)
  expect((await up.admin('POST', '/api/nodes/scheduling', { model_name: name, min_replicas: 1 })).status).toBe(200)
}

async function replicasOf(up: Flotilla, model: string): Promise<ReplicaView[]> {
  const all = (await up.admin('GET', '/api/replicas')).body as ReplicaView[]
  return all.filter(({ model_name }) => model_name === model)
}

const isReady = async (up: Flotilla, model: string): Promise<boolean> =>
  (await replicasOf(up, model)).some(({ state }) => state === 'ready')

async function inFlight(up: Flotilla, model: string): Promise<number> {
  return (await replicasOf(up, model)).reduce((sum, { in_flight }) => sum + in_flight, 0)
}

/** A replica that is ready is in a gateway's table a moment later. */
async function retried<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      const isEarly = error instanceof Error && 'status' in error && (error.status === 503 || error.status === 404)
      if (!isEarly) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

test('chat, stream, embeddings and the list of models', async () => {
  const { client } = await aClient()
  const listed = []
  for await (const model of client.models.list()) listed.push(model)
  expect(listed).toMatchObject([{ id: 'sim', object: 'model' }])
  expect(await client.models.retrieve('sim')).toMatchObject({ id: 'sim' })

  const whole = await client.chat.completions.create({ model: 'sim', messages, max_tokens: 5 })
  expect(whole.choices[0]!.message.content).toMatch(/\w/)
  expect(whole.usage?.completion_tokens).toBe(5)

  const stream = await client.chat.completions.create({ model: 'sim', messages, max_tokens: 8, stream: true })
  const parts: string[] = []
  let reason: string | null = null
  for await (const { choices } of stream) {
    parts.push(choices[0]?.delta.content ?? '')
    reason = choices[0]?.finish_reason ?? reason
  }
  expect(parts.filter((part) => part !== '')).toHaveLength(8)
  expect(reason).toBe('length')

  // The client asks for base64 when nothing is said, and decodes it.
  const { data } = await client.embeddings.create({ model: 'sim', input: ['one', 'two'] })
  expect(data).toHaveLength(2)
  expect(data[0]!.embedding.every((value) => Number.isFinite(value))).toBe(true)
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

test('tools, fields and headers that nobody here knows reach the engine, and its own come back', async () => {
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
      { headers: { 'x-of-my-own': 'kept' } },
    )
  const answer = await retried(ask)
  expect(answer).toMatchObject({ of_its_own: { kept: true }, choices: [{ finish_reason: 'tool_calls' }] })
  const [call] = answer.choices[0]!.message.tool_calls!
  const arrived = JSON.parse(call!.type === 'function' ? call!.function.arguments : '') as {
    body: string
    headers: Record<string, string>
  }
  expect(JSON.parse(arrived.body)).toEqual({ model: 'echo', messages, tools, tool_choice: 'auto', ...unknown })
  expect(arrived.headers).toMatchObject({ 'x-of-my-own': 'kept', 'user-agent': expect.stringContaining('OpenAI/JS') })
  expect(JSON.stringify(arrived.headers)).not.toContain(key)
})

test('an abort in the middle of a stream reaches the engine', async () => {
  const { up, client } = await aClient()
  await addModel(up, 'slow', 'sim', { ttft_ms: 0, tokens_per_s: 5 })
  await until(() => isReady(up, 'slow'))
  await until(async () => (await client.models.list()).data.some(({ id }) => id === 'slow'))
  const abort = new AbortController()
  const asked = { model: 'slow', messages, max_tokens: 500, stream: true as const, ignore_eos: true }
  const stream = await retried(() => client.chat.completions.create(asked, { signal: abort.signal }))
  const iterator = stream[Symbol.asyncIterator]()
  await iterator.next()
  await until(async () => (await inFlight(up, 'slow')) === 1)
  abort.abort()
  await until(async () => (await inFlight(up, 'slow')) === 0)

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
