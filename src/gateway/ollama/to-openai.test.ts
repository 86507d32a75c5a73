import { describe, expect, test } from 'vitest'
import { ollamaChatSchema, ollamaGenerateSchema } from '../../api/ollama.ts'
import { chatToOpenAi, promptToOpenAi } from './to-openai.ts'

const chat = (fields: object) => chatToOpenAi(ollamaChatSchema.parse({ model: 'm', ...fields }))
const generate = (fields: object) => promptToOpenAi(ollamaGenerateSchema.parse({ model: 'm', ...fields }))
const hello = { role: 'user', content: 'Hello' }

describe('a chat', () => {
  test('is streamed unless it says otherwise, with the count of its tokens at the end', () => {
    expect(chat({ messages: [hello] })).toEqual({
      path: '/v1/chat/completions',
      body: { messages: [hello], stream: true, stream_options: { include_usage: true } },
    })
    expect(chat({ messages: [hello], stream: false }).body).toEqual({ messages: [hello], stream: false })
  })

  test('has options of a request as parameters, and leaves out those of a load and what has no end', () => {
    const options = { num_predict: 7, temperature: 0, top_k: 3, seed: 4, stop: ['a'], num_ctx: 4096, num_gpu: 1 }
    const { body } = chat({ messages: [hello], stream: false, options })
    expect(body).toEqual({
      messages: [hello],
      stream: false,
      max_tokens: 7,
      temperature: 0,
      top_k: 3,
      seed: 4,
      stop: ['a'],
    })
    expect(chat({ messages: [hello], options: { num_predict: -1 } }).body).not.toHaveProperty('max_tokens')
    expect(chat({ messages: [hello], options: { repeat_penalty: 1.1 } }).body).toMatchObject({
      repeat_penalty: 1.1,
      repetition_penalty: 1.1,
    })
  })

  test.each([
    ['json', { type: 'json_object' }],
    [
      { type: 'object', properties: {} },
      {
        type: 'json_schema',
        json_schema: { name: 'answer', strict: true, schema: { type: 'object', properties: {} } },
      },
    ],
    ['', undefined],
  ])('has the format %j as response_format', (format, expected) => {
    expect(chat({ messages: [hello], format }).body['response_format']).toEqual(expected)
  })

  test.each([
    [true, { chat_template_kwargs: { enable_thinking: true } }],
    [false, { chat_template_kwargs: { enable_thinking: false } }],
    ['high', { chat_template_kwargs: { enable_thinking: true }, reasoning_effort: 'high' }],
  ])('thinks when told to: %j', (think, expected) => {
    expect(chat({ messages: [hello], think }).body).toMatchObject(expected)
  })

  test('shows images, each with the type that its first bytes tell', () => {
    const images = ['iVBORw0KGgo=', '/9j/4AAQ', 'data:image/bmp;base64,Qk0=']
    const { messages } = chat({ messages: [{ ...hello, images }] }).body
    const shown = (url: string) => ({ type: 'image_url', image_url: { url } })
    expect(messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hello' },
          shown('data:image/png;base64,iVBORw0KGgo='),
          shown('data:image/jpeg;base64,/9j/4AAQ'),
          shown('data:image/bmp;base64,Qk0='),
        ],
      },
    ])
  })

  test('gives results of tools to the calls that they belong to, by name, or in order', () => {
    const call = (name: string, values: object) => ({ function: { name, arguments: values } })
    const messages = [
      hello,
      { role: 'assistant', content: '', tool_calls: [call('weather', { city: 'Bonn' }), call('time', {})] },
      { role: 'tool', tool_name: 'time', content: 'noon' },
      { role: 'tool', content: 'rain' },
    ]
    const tools = [{ type: 'function', function: { name: 'weather' } }]
    const { body } = chat({ messages, tools })
    expect(body['tools']).toEqual(tools)
    expect((body['messages'] as object[]).slice(1)).toEqual([
      {
        role: 'assistant',
        content: '',
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Bonn"}' } },
          { id: 'call_2', type: 'function', function: { name: 'time', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_2', content: 'noon' },
      { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
    ])
  })
})

describe('a prompt', () => {
  test('is what a user says, after what the system says', () => {
    const { path, body } = generate({ prompt: 'Hi', system: 'Be brief.', stream: false })
    expect([path, body['messages']]).toEqual([
      '/v1/chat/completions',
      [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
      ],
    ])
  })

  test('is a text to go on with when it is raw or is to be filled in the middle', () => {
    expect(generate({ prompt: 'a', raw: true, stream: false })).toEqual({
      path: '/v1/completions',
      body: { prompt: 'a', stream: false },
    })
    expect(generate({ prompt: 'def f(', suffix: 'return 1' }).body).toMatchObject({ suffix: 'return 1' })
  })

  test('is refused with what cannot be honoured, and told what to do instead', () => {
    expect(() => generate({ prompt: 'a', template: '{{ .Prompt }}' })).toThrow('"raw": true')
    expect(() => generate({ prompt: 'a', context: [1, 2] })).toThrow('/api/chat')
    expect(generate({ prompt: 'a', template: '', context: [] }).path).toBe('/v1/chat/completions')
  })
})
