import OpenAI, { type ClientOptions } from 'openai'
import { expect } from 'vitest'
import type { KeyCreated, ReplicaView } from '../src/api/admin/schemas.ts'
import { startUp, type Flotilla } from './support/flotilla.ts'
import { until } from './support/until.ts'

/** The official client against a running `flotilla up`, with a key of its own as an application would have one. */
export async function aClient(
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

export const messages = [{ role: 'user' as const, content: 'Hello' }]

export async function addModel(
  up: Flotilla,
  name: string,
  engine: string,
  options: object,
  source?: string,
): Promise<void> {
  expect((await up.admin('POST', '/api/models', { name, engine, options, source })).status).toBe(200)
  expect((await up.admin('POST', '/api/nodes/scheduling', { model_name: name, min_replicas: 1 })).status).toBe(200)
}

export async function replicasOf(up: Flotilla, model: string): Promise<ReplicaView[]> {
  const all = (await up.admin('GET', '/api/replicas')).body as ReplicaView[]
  return all.filter(({ model_name }) => model_name === model)
}

export const isReady = async (up: Flotilla, model: string): Promise<boolean> =>
  (await replicasOf(up, model)).some(({ state }) => state === 'ready')

export async function inFlight(up: Flotilla, model: string): Promise<number> {
  return (await replicasOf(up, model)).reduce((sum, { in_flight }) => sum + in_flight, 0)
}

/** A replica that is ready is in a gateway's table a moment later. */
export async function retried<T>(call: () => Promise<T>): Promise<T> {
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

/** What the client finds whichever engine is behind the model; run on the simulated one and on a real one. */
export async function checkAnswers(client: OpenAI, model: string): Promise<void> {
  const question = [{ role: 'user' as const, content: 'What is a slot?' }]
  const greedy = { model, messages: question, temperature: 0, seed: 1 }
  const whole = await client.chat.completions.create({ ...greedy, max_tokens: 12 })
  const text = whole.choices[0]!.message.content!
  expect(text).toMatch(/\w/)
  expect(whole.choices[0]!.finish_reason).toBe('length')
  const { prompt_tokens: read, completion_tokens: written, total_tokens: total } = whole.usage!
  expect(read).toBeGreaterThan(0)
  expect([written, total]).toEqual([12, read + 12])

  const withUsage = { stream: true, stream_options: { include_usage: true } } as const
  const stream = await client.chat.completions.create({ ...greedy, max_tokens: 12, ...withUsage })
  let streamed = ''
  let reason: string | null = null
  let usage: unknown
  for await (const chunk of stream) {
    streamed += chunk.choices[0]?.delta.content ?? ''
    reason = chunk.choices[0]?.finish_reason ?? reason
    usage = chunk.usage ?? usage
  }
  expect([streamed, reason]).toEqual([text, 'length'])
  expect(usage).toMatchObject({ prompt_tokens: read, completion_tokens: 12 })

  // From the second word on, so that something is left before it.
  const stop = text.trim().split(/\s+/)[2]!
  const stopped = await client.chat.completions.create({ ...greedy, max_tokens: 12, stop: [stop] })
  expect(stopped.choices[0]).toMatchObject({ finish_reason: 'stop' })
  expect(stopped.choices[0]!.message.content).toBe(text.slice(0, text.indexOf(stop)))

  // The client asks for base64 when nothing is said, and decodes it.
  const { data } = await client.embeddings.create({ model, input: ['one', 'two'] })
  expect(data).toHaveLength(2)
  const [one, two] = data.map(({ embedding }) => embedding)
  expect(one!.every((value) => Number.isFinite(value))).toBe(true)
  expect(one).toHaveLength(two!.length)
  expect(one).not.toEqual(two)
}

/** `model` must have something to say for several seconds. */
export async function checkAbort(up: Flotilla, client: OpenAI, model: string): Promise<void> {
  const abort = new AbortController()
  const asked = { model, messages, max_tokens: 5000, stream: true as const, ignore_eos: true }
  const stream = await retried(() => client.chat.completions.create(asked, { signal: abort.signal }))
  await stream[Symbol.asyncIterator]().next()
  await until(async () => (await inFlight(up, model)) === 1)
  abort.abort()
  await until(async () => (await inFlight(up, model)) === 0)
}
