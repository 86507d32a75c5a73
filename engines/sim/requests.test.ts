import { expect, test } from 'vitest'
import { parseChat, parseCompletion, parseEmbedding } from './requests.ts'

const user = { role: 'user', content: 'hi' }

test('a conversation becomes one prompt, and the last words of the user are what was asked', () => {
  const messages = [
    { role: 'system', content: 'Be brief.' },
    user,
    { role: 'assistant', content: null, tool_calls: [] },
  ]
  expect(parseChat({ model: 'm', messages })).toMatchObject({
    prompt: '<|system|>\nBe brief.\n<|user|>\nhi\n<|assistant|>\n\n<|assistant|>\n',
    asked: 'hi',
    stream: false,
    maxTokens: undefined,
  })
})

test('content may come in parts', () => {
  const content = [
    { type: 'text', text: 'look:' },
    { type: 'image_url', image_url: { url: 'data:,' } },
  ]
  expect(parseChat({ messages: [{ role: 'user', content }] }).asked).toBe('look:\n[image_url]')
})

test('null means not given, and max_completion_tokens comes before max_tokens', () => {
  const nulls = { n: null, stop: null, seed: null, stream: null, stream_options: null, max_tokens: null }
  expect(parseChat({ messages: [user], ...nulls })).toMatchObject({ stop: [], seed: undefined, stream: false })
  expect(parseChat({ messages: [user], max_tokens: 5, max_completion_tokens: 3 }).maxTokens).toBe(3)
})

test('a prompt is a text, a list of one, or tokens', () => {
  expect(parseCompletion({ prompt: 'a' }).prompt).toBe('a')
  expect(parseCompletion({ prompt: ['a'] }).prompt).toBe('a')
  expect(parseCompletion({ prompt: [1, 2] }).prompt).toBe('1 2')
})

test('inputs to embed are one text or many', () => {
  expect(parseEmbedding({ input: 'a' })).toEqual({ inputs: ['a'], dimensions: 256, base64: false })
  expect(parseEmbedding({ input: ['a', 'b'], dimensions: 8, encoding_format: 'base64' })).toEqual({
    inputs: ['a', 'b'],
    dimensions: 8,
    base64: true,
  })
  expect(parseEmbedding({ input: [[1], [2, 3]] }).inputs).toEqual(['1', '2 3'])
})

test.each([
  [[], 'JSON object'],
  [{}, "'messages' must be a list"],
  [{ messages: [] }, "'messages' must be a list"],
  [{ messages: ['hi'] }, "'messages[0]' must be an object"],
  [{ messages: [{ content: 'hi' }] }, "'messages[0].role' must be a string"],
  [{ messages: [{ role: 'user' }] }, "'messages[0].content' is missing"],
  [{ messages: [{ role: 'user', content: 5 }] }, "'messages[0].content' must be a string or a list"],
  [{ messages: [{ role: 'user', content: ['x'] }] }, "'messages[0].content[0]' must be an object"],
  [{ messages: [{ role: 'user', content: [{ type: 'text' }] }] }, "'messages[0].content[0].text' must be a string"],
  [{ messages: [user], model: 5 }, "'model' must be a string"],
  [{ messages: [user], n: 2 }, "'n' must be 1"],
  [{ messages: [user], max_tokens: 0 }, "'max_tokens' must be a whole number of at least 1"],
  [{ messages: [user], max_tokens: '5' }, "'max_tokens' must be a whole number"],
  [{ messages: [user], seed: 0.5 }, "'seed' must be a whole number."],
  [{ messages: [user], stop: '' }, "'stop' must be"],
  [{ messages: [user], stop: [1] }, "'stop' must be"],
  [{ messages: [user], stream: 'yes' }, "'stream' must be true or false"],
  [{ messages: [user], stream_options: true }, "'stream_options' must be an object"],
])('the chat request %j is refused with a reason', (body, message) => {
  expect(() => parseChat(body)).toThrow(message)
})

test('prompts and inputs of the wrong kind are refused', () => {
  expect(() => parseCompletion({ prompt: ['a', 'b'] })).toThrow('Exactly one prompt')
  expect(() => parseCompletion({})).toThrow("'prompt' must be a string")
  expect(() => parseEmbedding({ input: '' })).toThrow("'input' must not be empty")
  expect(() => parseEmbedding({ input: [] })).toThrow("'input' must not be empty")
  expect(() => parseEmbedding({ input: ['a', 1] })).toThrow("'input' must be a string")
  expect(() => parseEmbedding({ input: 'a', dimensions: 0 })).toThrow("'dimensions' must be a whole number from 1")
  expect(() => parseEmbedding({ input: 'a', encoding_format: 'hex' })).toThrow("'encoding_format'")
  expect(() => parseEmbedding({ input: Array.from({ length: 2049 }, () => 'a') })).toThrow('at most 2048')
})
