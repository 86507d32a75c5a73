import { expect, test } from 'vitest'
import { parseChat, parseCompletion } from './requests.ts'
import { parseEmbedding, parseRank } from './vectors/vector-requests.ts'

const messages = [{ role: 'user', content: 'hello' }]
const tool = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }

test('what is not said is as in llama.cpp’s own server', () => {
  expect(parseChat({ messages })).toMatchObject({
    sampling: { temperature: 0.8, topK: 40, topP: 0.95, minP: 0.05, repeatPenalty: 1, seed: undefined },
    format: { kind: 'text' },
    logprobs: undefined,
    tools: undefined,
    stream: false,
  })
})

test('messages become what templates read', () => {
  const calls = [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }]
  const parsed = parseChat({
    messages: [
      { role: 'developer', content: [{ type: 'text', text: 'be brief' }] },
      { role: 'assistant', content: null, tool_calls: calls },
      { role: 'tool', tool_call_id: 'c1', content: 'a ship' },
    ],
  })
  expect(parsed.messages).toEqual([
    { role: 'system', content: 'be brief' },
    { role: 'assistant', content: '', tool_calls: [{ ...calls[0], function: { name: 'look', arguments: { at: 1 } } }] },
    { role: 'tool', tool_call_id: 'c1', content: 'a ship' },
  ])
})

test('a call that is demanded becomes a schema; none becomes no tools at all', () => {
  const asked = { messages, tools: [tool] }
  expect(parseChat(asked).tools).toMatchObject({ names: ['look'], forced: undefined })
  const named = { type: 'function', function: { name: 'look' } }
  expect(parseChat({ ...asked, tool_choice: named }).tools?.forced).toMatchObject({
    properties: { name: { const: 'look' }, arguments: { type: 'object' } },
  })
  expect(parseChat({ ...asked, tool_choice: 'required' }).tools?.forced).toBeDefined()
  expect(parseChat({ ...asked, tool_choice: 'none' }).tools).toBeUndefined()
})

test('schemas are put into the words that grammars know', () => {
  const schema = { anyOf: [{ $ref: '#/definitions/a' }], definitions: { a: { type: 'array', items: { anyOf: [] } } } }
  const { format } = parseChat({ messages, response_format: { type: 'json_schema', json_schema: { schema } } })
  expect(format).toEqual({
    kind: 'schema',
    schema: { oneOf: [{ $ref: '#/$defs/a' }], $defs: { a: { type: 'array', items: { oneOf: [] } } } },
  })
})

test.each([
  ['messages', { messages: [] }],
  ['messages', {}],
  ['temperature', { messages, temperature: 3 }],
  ['top_p', { messages, top_p: '1' }],
  ['seed', { messages, seed: 0.5 }],
  ['max_tokens', { messages, max_tokens: 0 }],
  ['top_logprobs', { messages, top_logprobs: 2 }],
  ['response_format', { messages, response_format: { type: 'xml' } }],
  ['response_format', { messages, response_format: { type: 'json_schema' } }],
  ['tools', { messages, tools: 'look' }],
  ['tool_choice', { messages, tools: [tool], tool_choice: { type: 'function', function: { name: 'fly' } } }],
  ['tool_choice', { messages, tool_choice: 'required' }],
  ['tool_choice', { messages, tools: [tool], tool_choice: 'required', response_format: { type: 'json_object' } }],
  ['logit_bias', { messages, logit_bias: { a: 1 } }],
  ['stop', { messages, stop: [''] }],
])('a wrong %s is named', (param, body) => {
  expect(() => parseChat(body)).toThrow(
    expect.objectContaining({ status: 400, extra: expect.objectContaining({ param }) }),
  )
})

test('a text completion takes a text or tokens, and one only', () => {
  expect(parseCompletion({ prompt: [1, 2], logprobs: 2 })).toMatchObject({ prompt: [1, 2], logprobs: 2 })
  expect(() => parseCompletion({ prompt: ['a', 'b'] })).toThrow('Exactly one prompt')
  expect(() => parseCompletion({ prompt: 'a', echo: true })).toThrow("'echo' is not supported")
})

test('embeddings and rankings are checked', () => {
  expect(parseEmbedding({ input: [[1], [2, 3]], encoding_format: 'base64' })).toEqual({
    inputs: [[1], [2, 3]],
    dimensions: undefined,
    base64: true,
  })
  expect(() => parseEmbedding({ input: ['a', ''] })).toThrow('must not be empty')
  expect(parseRank({ query: 'q', documents: ['a', { text: 'b' }], top_n: 1 })).toEqual({
    query: 'q',
    documents: ['a', 'b'],
    most: 1,
    returnDocuments: false,
  })
  expect(() => parseRank({ query: 'q', documents: [] })).toThrow('1 to 1024')
})
