import OpenAI from 'openai'
import { beforeAll, expect, test } from 'vitest'
import { llamaEngine } from '../../test/support/worker/llama-engine.ts'
import { until } from '../../test/support/until.ts'
import { startLlama } from './testing/start-llama.ts'

/** The first run on a machine fetches the library. */
beforeAll(() => llamaEngine(), 300_000)

const QUESTION = 'What is a slot?'
const greedy = { model: 'skipper', temperature: 0, messages: [{ role: 'user' as const, content: QUESTION }] }

async function aClient(args: string[] = []): Promise<{ openai: OpenAI; url: string; pid: number }> {
  const engine = await startLlama(args)
  return {
    openai: new OpenAI({ baseURL: `${engine.url}/v1`, apiKey: 'none', maxRetries: 0 }),
    url: engine.url,
    pid: engine.child.pid!,
  }
}

async function metric(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(new RegExp(`^llamacpp:${name} (.*)$`, 'm').exec(text)?.[1])
}

test('a question is answered, plain and as a stream, with the same words and usage', async () => {
  const { openai } = await aClient()
  const plain = await openai.chat.completions.create(greedy)
  expect(plain.choices[0]).toMatchObject({ finish_reason: 'stop', message: { role: 'assistant' } })
  const text = plain.choices[0]!.message.content!
  expect(text).toMatch(/slot is a place for a replica/)
  expect(plain.usage).toMatchObject({ prompt_tokens: 13, prompt_tokens_details: { cached_tokens: 0 } })
  const stream = await openai.chat.completions.create({
    ...greedy,
    stream: true,
    stream_options: { include_usage: true },
  })
  let streamed = ''
  let usage
  for await (const chunk of stream) {
    streamed += chunk.choices[0]?.delta.content ?? ''
    usage = chunk.usage ?? usage
  }
  expect(streamed).toBe(text)
  // All but the last token of the prompt was still known.
  expect(usage).toMatchObject({
    completion_tokens: plain.usage!.completion_tokens,
    prompt_tokens_details: { cached_tokens: 12 },
  })
})

test('stop sequences, limits and seeds are obeyed', async () => {
  const { openai } = await aClient()
  const stopped = await openai.chat.completions.create({ ...greedy, stop: ['replica', 'never said'] })
  expect(stopped.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'A slot is a place for a ' } })
  const short = await openai.chat.completions.create({ ...greedy, max_completion_tokens: 4 })
  expect(short.choices[0]!.finish_reason).toBe('length')
  expect(short.usage!.completion_tokens).toBe(4)
  // Nothing it has learned about, so that there is a choice.
  const wild = async (seed: number): Promise<string> => {
    const body = { prompt: 'zebra', max_tokens: 24, temperature: 2, top_p: 1, top_k: 0, min_p: 0, seed }
    return (await openai.completions.create({ model: 'x', ...body })).choices[0]!.text
  }
  expect(await wild(7)).toBe(await wild(7))
  expect(await wild(7)).not.toBe(await wild(8))
})

test('penalties and biases change what is said', async () => {
  const { openai } = await aClient()
  const plain = await openai.completions.create({
    model: 'x',
    prompt: 'A slot is',
    temperature: 0,
    max_tokens: 1,
    logprobs: 1,
  })
  const first = plain.choices[0]!.text
  const biased = await openai.chat.completions.create({
    ...greedy,
    max_tokens: 3,
    frequency_penalty: 2,
    presence_penalty: 2,
  })
  expect(biased.usage!.completion_tokens).toBe(3)
  const body = { prompt: 'A slot is', temperature: 0, max_tokens: 1, logit_bias: {} as Record<string, number> }
  for (let token = 0; token < 1024; token += 1) body.logit_bias[token] = -100
  const other = await openai.completions.create({ model: 'x', ...body })
  expect(other.choices[0]!.text).not.toBe(first)
})

test('probabilities of tokens are told when asked for', async () => {
  const { openai } = await aClient()
  const { choices } = await openai.chat.completions.create({
    ...greedy,
    logprobs: true,
    top_logprobs: 3,
    max_tokens: 2,
  })
  const told = choices[0]!.logprobs!.content!
  expect(told).toHaveLength(2)
  expect(told[0]!.token).toBe('A')
  expect(told[0]!.top_logprobs).toHaveLength(3)
  expect(told[0]!.top_logprobs[0]).toMatchObject({ token: 'A', logprob: told[0]!.logprob })
  expect(Math.exp(told[0]!.logprob)).toBeGreaterThan(0.3)
})

test('an answer keeps to a schema, and to JSON', async () => {
  const { openai } = await aClient()
  const schema = {
    type: 'object',
    properties: {
      ok: { type: 'boolean' },
      kind: { enum: ['slot', 'node'] },
      also: { anyOf: [{ type: 'null' }, { const: 1 }] },
    },
    required: ['ok', 'kind', 'also'],
    additionalProperties: false,
  }
  const strict = await openai.chat.completions.create({
    ...greedy,
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
  })
  const value = JSON.parse(strict.choices[0]!.message.content!)
  expect(Object.keys(value)).toEqual(['ok', 'kind', 'also'])
  expect(typeof value.ok).toBe('boolean')
  expect(['slot', 'node']).toContain(value.kind)
  const json = await openai.chat.completions.create({
    ...greedy,
    max_tokens: 60,
    response_format: { type: 'json_object' },
  })
  expect(json.choices[0]!.message.content).toMatch(/^\{/)
  const refused = openai.chat.completions.create({
    ...greedy,
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'string', pattern: '^a' } } },
  })
  await expect(refused).rejects.toMatchObject({ status: 400, message: expect.stringContaining("'pattern'") })
})

test('embeddings are unit vectors, the same each time, as numbers and as base64', async () => {
  const { openai } = await aClient()
  const { data, usage } = await openai.embeddings.create({ model: 'x', input: ['a node', 'a slot'] })
  expect(data).toHaveLength(2)
  const [one = []] = data.map(({ embedding }) => embedding)
  expect(one.reduce((sum, value) => sum + value * value, 0)).toBeCloseTo(1, 4)
  expect(usage.prompt_tokens).toBeGreaterThan(2)
  const again = await openai.embeddings.create({ model: 'x', input: 'a node', encoding_format: 'float' })
  for (const [index, value] of again.data[0]!.embedding.entries()) expect(value).toBeCloseTo(one[index]!, 5)
  const few = await openai.embeddings.create({ model: 'x', input: 'a node', dimensions: 8 })
  expect(few.data[0]!.embedding).toHaveLength(8)
  const many = openai.embeddings.create({ model: 'x', input: 'a node', dimensions: 100_000 })
  await expect(many).rejects.toMatchObject({ status: 400 })
})

test('what cannot be done is refused with a reason', async () => {
  const { openai, url } = await aClient()
  const chat = (body: object): Promise<unknown> =>
    openai.chat.completions.create({ ...greedy, ...body } as OpenAI.ChatCompletionCreateParamsNonStreaming)
  const long = [{ role: 'user', content: 'word '.repeat(2000) }]
  await expect(chat({ messages: long })).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' })
  const tools = [{ type: 'function', function: { name: 'look' } }]
  await expect(chat({ tools })).rejects.toMatchObject({ status: 400, message: expect.stringContaining('no tools') })
  const image = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:' } }] }]
  await expect(chat({ messages: image })).rejects.toMatchObject({ status: 400, code: 'unsupported_content' })
  await expect(chat({ n: 2 })).rejects.toMatchObject({ status: 400, param: 'n' })
  const rank = await fetch(`${url}/v1/rerank`, { method: 'POST', body: '{"query":"q","documents":["a"]}' })
  expect(rank.status).toBe(400)
  expect(await metric(url, 'requests_processing')).toBe(0)
})

test('eight clients on four sequences get the answers that one alone gets, and find each other’s beginnings', async () => {
  const { openai, url } = await aClient(['--parallel', '4'])
  const questions = [QUESTION, 'What is a node?', 'What is a replica?', 'how do I add a second machine?']
  const ask = (content: string): Promise<string> =>
    openai.chat.completions
      .create({ ...greedy, messages: [{ role: 'user', content }] })
      .then(({ choices }) => choices[0]!.message.content!)
  const alone: string[] = []
  for (const question of questions) alone.push(await ask(question))
  const together = await Promise.all([...questions, ...questions].map(ask))
  expect(together).toEqual([...alone, ...alone])
  expect(await metric(url, 'requests_finished_total')).toBe(12)
  expect(await metric(url, 'prompt_tokens_cached_total')).toBeGreaterThan(0)
})

test('a client that goes away frees its slot, while others go on', async () => {
  const { openai, url } = await aClient(['--parallel', '2'])
  const endless = { ...greedy, stream: true as const, max_tokens: 400, ignore_eos: true }
  const leaving = await openai.chat.completions.create(endless)
  const staying = openai.chat.completions.create({ ...greedy, max_tokens: 8 })
  for await (const chunk of leaving) if (chunk.choices[0]?.delta.content) break
  leaving.controller.abort()
  await until(async () => (await metric(url, 'requests_processing')) === 0)
  expect((await staying).usage!.completion_tokens).toBe(8)
  expect(await metric(url, 'requests_aborted_total')).toBe(1)
  expect(await metric(url, 'tokens_predicted_total')).toBeLessThan(408)
})

test('beyond the queue requests are refused at once; those that wait are served', async () => {
  const { openai, url } = await aClient(['--parallel', '1', '--queue', '1'])
  const endless = { ...greedy, stream: true as const, max_tokens: 400, ignore_eos: true }
  const running = await openai.chat.completions.create(endless)
  const waiting = openai.chat.completions.create({ ...greedy, max_tokens: 2 })
  await until(async () => (await metric(url, 'requests_deferred')) === 1)
  await expect(openai.chat.completions.create(greedy)).rejects.toMatchObject({ status: 429, code: 'queue_full' })
  running.controller.abort()
  expect((await waiting).usage!.completion_tokens).toBe(2)
})
