import { join } from 'node:path'
import OpenAI from 'openai'
import { beforeAll, expect, test } from 'vitest'
import { llamaEngine } from '../../../test/support/worker/llama-engine.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { startLlama } from '../testing/start-llama.ts'
import { writeSkipperWithTools } from '../testing/tool-template.ts'

beforeAll(() => llamaEngine(), 300_000)

type Asked = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'stream'>
type Choice = OpenAI.ChatCompletion['choices'][number]

const parameters = {
  type: 'object',
  properties: { node: { enum: ['n1', 'n2'] }, force: { type: 'boolean' }, size: { $ref: '#/$defs/size' } },
  required: ['node', 'force', 'size'],
  $defs: { size: { type: 'object', properties: { slots: { enum: [1, 2, 3] } }, required: ['slots'] } },
}
const tools: OpenAI.ChatCompletionTool[] = [
  { type: 'function', function: { name: 'drain', parameters } },
  { type: 'function', function: { name: 'list' } },
]
const asked: Asked = {
  model: 'skipper',
  temperature: 0,
  max_tokens: 200,
  messages: [{ role: 'user', content: 'drain a node' }],
  tools,
}
const named = (name: string): Partial<Asked> => ({ tool_choice: { type: 'function', function: { name } } })

/** Skipper has never seen a tool. What it is made to say shows what becomes of it. */
async function start(): Promise<(body?: Partial<Asked>) => Promise<Choice>> {
  const openai = await aClient()
  return async (body) => (await openai.chat.completions.create({ ...asked, ...body })).choices[0]!
}

async function aClient(): Promise<OpenAI> {
  const file = join(tempFolder(), 'skipper-tools.gguf')
  writeSkipperWithTools(file)
  const { url } = await startLlama(['--model', file, '--context', '1024'])
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 })
}

function expectDrain(text: string): void {
  const given = JSON.parse(text) as { node: string; force: unknown; size: { slots: number } }
  expect(Object.keys(given)).toEqual(['node', 'force', 'size'])
  expect(['n1', 'n2']).toContain(given.node)
  expect(typeof given.force).toBe('boolean')
  expect([1, 2, 3]).toContain(given.size.slots)
}

test('a call that is demanded is one of the functions, with arguments that keep to its schema; cut off it is none', async () => {
  const ask = await start()
  const [drain, list, either] = await Promise.all([
    ask(named('drain')),
    ask(named('list')),
    ask({ tool_choice: 'required' }),
  ])
  for (const { finish_reason, message } of [drain, list, either]) {
    expect(finish_reason).toBe('tool_calls')
    expect(message).toMatchObject({ role: 'assistant', content: null })
    expect(message.tool_calls).toHaveLength(1)
    expect(message.tool_calls![0]).toMatchObject({ type: 'function', id: expect.stringMatching(/^call_\w+$/) })
  }
  expect(callOf(drain).name).toBe('drain')
  expectDrain(callOf(drain).arguments)
  expect(callOf(list)).toEqual({ name: 'list', arguments: '{}' })
  expect(['drain', 'list']).toContain(callOf(either).name)
  const cut = await ask({ ...named('drain'), max_tokens: 4 })
  expect(cut.finish_reason).toBe('length')
  expect(cut.message.tool_calls).toBeUndefined()
})

test('a stream tells the same call, and nothing of how it was written', async () => {
  const openai = await aClient()
  const body = { ...asked, tool_choice: 'required' as const }
  const plain = await openai.chat.completions.create(body)
  const stream = openai.chat.completions.stream({ ...body, stream_options: { include_usage: true } })
  const told: string[] = []
  stream.on('content', (text) => told.push(text))
  const streamed = await stream.finalChatCompletion()
  expect(told.join('')).toBe('')
  expect(streamed.choices[0]!.finish_reason).toBe('tool_calls')
  expect(callOf(streamed.choices[0]!)).toMatchObject(callOf(plain.choices[0]!))
  expect(streamed.usage!.completion_tokens).toBe(plain.usage!.completion_tokens)
})

test('a model that may call does so by writing a call, and answers by writing anything else', async () => {
  const ask = await start()
  const answer = await ask({ max_tokens: 20 })
  expect(answer.message.content).not.toBe('')
  expect(answer.message.tool_calls).toBeUndefined()
  const writing = (name: string): Partial<Asked> => {
    const properties = { name: { const: name }, arguments: parameters }
    const schema = { type: 'object', properties, required: ['name', 'arguments'] }
    return { response_format: { type: 'json_schema', json_schema: { name: 'any', schema } } }
  }
  const call = await ask(writing('drain'))
  expect(call).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } })
  expectDrain(callOf(call).arguments)
  const unknown = await ask(writing('fly'))
  expect(unknown.finish_reason).toBe('stop')
  expect(JSON.parse(unknown.message.content!)).toMatchObject({ name: 'fly' })
  const forbidden = await ask({ ...writing('drain'), tool_choice: 'none' })
  expect(forbidden.finish_reason).toBe('stop')
  expect(JSON.parse(forbidden.message.content!)).toMatchObject({ name: 'drain' })
})

test('the conversation goes on with what a call has brought', async () => {
  const ask = await start()
  const { message } = await ask(named('list'))
  const [call] = message.tool_calls!
  const result = { role: 'tool' as const, tool_call_id: call!.id, content: 'n1, n2' }
  const next = await ask({ messages: [...asked.messages, message, result], ...named('drain') })
  expect(next.finish_reason).toBe('tool_calls')
  expectDrain(callOf(next).arguments)
})

test('a model whose template knows no tools says so, and answers where none may be called', async () => {
  const { url } = await startLlama()
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 })
  for (const choice of ['auto', 'required'] as const) {
    await expect(openai.chat.completions.create({ ...asked, tool_choice: choice })).rejects.toMatchObject({
      status: 400,
      param: 'tools',
      message: expect.stringContaining('The chat template of this model knows no tools.'),
    })
  }
  const { choices } = await openai.chat.completions.create({ ...asked, tool_choice: 'none' })
  expect(choices[0]!.message.content).not.toBe('')
})

function callOf({ message }: Choice): { name: string; arguments: string } {
  const [call] = message.tool_calls!
  if (call?.type !== 'function') throw new Error('it calls no function')
  return call.function
}
