import fc from 'fast-check'
import { expect, test } from 'vitest'
import { replaceModel } from './replace-model.ts'

const replaced = (text: string): string => replaceModel(Buffer.from(text), 'new "näme"').toString()
const NEW = '"new \\"näme\\""'

test.each([
  ['{"model":"m"}', `{"model":${NEW}}`],
  ['{ "model" : "m" , "n": 1 }', `{ "model" : ${NEW} , "n": 1 }`],
  ['{"a":{"model":"inner"},"model":"m"}', `{"a":{"model":"inner"},"model":${NEW}}`],
  ['{"a":[{"model":"inner"},"}"],"model":null}', `{"a":[{"model":"inner"},"}"],"model":${NEW}}`],
  ['{"a":"\\"model\\":\\\\","model":"\\\\"}', `{"a":"\\"model\\":\\\\","model":${NEW}}`],
  ['{"mod\\u0065l":"m"}', `{"mod\\u0065l":${NEW}}`],
  ['{"model":{"deep":[1]},"x":1}', `{"model":${NEW},"x":1}`],
  ['{"model":1,"model":true}', `{"model":${NEW},"model":${NEW}}`],
  ['\n\t {"big":12345678901234567890.10,"model":"m"}\n', `\n\t {"big":12345678901234567890.10,"model":${NEW}}\n`],
  ['\uFEFF{"model":"m"}', `\uFEFF{"model":${NEW}}`],
])('%s', (text, expected) => {
  expect(replaced(text)).toBe(expected)
})

test.each([
  '',
  '{}',
  '[]',
  'null',
  '"model"',
  '{"models":"m"}',
  '{"model"',
  '{"model":',
  '{"model":"m"',
  '{model:"m"}',
  'x=1',
])('is left as it is: %s', (text) => {
  expect(replaced(text)).toBe(text)
})

test('in any JSON object the model is replaced and everything else means the same', () => {
  const object = fc.dictionary(fc.oneof(fc.constant('model'), fc.string()), fc.jsonValue())
  const spaces = fc.constantFrom(undefined, 1, '\t')
  fc.assert(
    fc.property(object, fc.string(), spaces, (value, model, indent) => {
      const text = JSON.stringify(value, null, indent)
      const before = JSON.parse(text) as Record<string, unknown>
      const after = JSON.parse(replaceModel(Buffer.from(text), model).toString()) as unknown
      expect(after).toEqual('model' in before ? { ...before, model } : before)
    }),
  )
})

test('no bytes at all make it fail, or grow without a model in them', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const body = Buffer.from(bytes)
      expect(replaceModel(body, 'm')).toBe(body)
    }),
  )
})
