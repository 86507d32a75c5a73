import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseToolCalls } from './tool-calls.ts'

const names = ['look', 'go']
const look = { name: 'look', arguments: '{"at":"a {brace} \\" here"}' }
const json = '{"name": "look", "arguments": {"at": "a {brace} \\" here"}}'

test.each([
  ['Hermes and Qwen', `<tool_call>\n${json}\n</tool_call>`],
  ['Mistral', `[TOOL_CALLS][${json}]`],
  ['newer Mistral', `[TOOL_CALLS]look[ARGS]{"at": "a {brace} \\" here"}`],
  ['Llama', `<|python_tag|>${json.replace('arguments', 'parameters')}`],
  ['a bare object', json],
  ['function tags', `<function=look>{"at": "a {brace} \\" here"}</function>`],
])('a call in the format of %s is read', (_, text) => {
  expect(parseToolCalls(text, names)).toEqual([look])
})

test('several calls are read in order', () => {
  const go = '{"name":"go","arguments":{}}'
  const expected = [look, { name: 'go', arguments: '{}' }]
  expect(parseToolCalls(`<tool_call>${json}</tool_call>\n<tool_call>${go}</tool_call>`, names)).toEqual(expected)
  expect(parseToolCalls(`[TOOL_CALLS][${json}, ${go}]`, names)).toEqual(expected)
  expect(parseToolCalls(`${json}; ${go}`, names)).toEqual(expected)
})

test.each([
  ['a bare object', '<tool_call> and <function=go>', (call: string) => call],
  ['a tagged object', '<function=go> and [TOOL_CALLS]go[ARGS]', (call: string) => `<tool_call>${call}</tool_call>`],
  ['a list', '<tool_call>', (call: string) => `[TOOL_CALLS][${call}]`],
])('arguments in %s may speak of tags', (_, at, write) => {
  const text = write(JSON.stringify({ name: 'look', arguments: { at } }))
  expect(parseToolCalls(text, names)).toEqual([{ name: 'look', arguments: JSON.stringify({ at }) }])
})

test.each([
  ['a function that there is not', '{"name":"fly","arguments":{}}'],
  ['an object that is no call', '{"slots": 2}'],
  ['a call that was cut off', '<tool_call>{"name":"look","argum'],
  ['a text', 'look at this'],
])('%s is no call', (_, text) => {
  expect(parseToolCalls(text, names)).toBeUndefined()
})

test('whatever a model writes, reading it does not fail', () => {
  const part = fc.constantFrom(
    '<tool_call>',
    '</tool_call>',
    '[TOOL_CALLS]',
    '{',
    '}',
    '"',
    '\\',
    '[',
    ']',
    'name',
    ':',
    ',',
    'look',
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
      const calls = parseToolCalls(parts.join(''), names)
      expect(calls === undefined || calls.length > 0).toBe(true)
    }),
  )
})
