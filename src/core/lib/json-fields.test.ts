import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonFields, withoutPause } from './json-fields.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

function fieldsOf(text: string, names: string[]): Record<string, unknown> | undefined {
  const body = bytesOf(text)
  const found = withoutPause(jsonFields(body, names))
  if (!found) return undefined
  return Object.fromEntries(
    Array.from(found, ([name, spans]) => [name, JSON.parse(textOf(body.subarray(...spans.at(-1)!))) as unknown]),
  )
}

test('what it finds in an object is what JSON.parse finds, whatever else is in there', () => {
  const names = ['model', 'stream', 'user']
  const key = fc.oneof(fc.constantFrom(...names), fc.string())
  const value = fc.oneof(
    fc.jsonValue(),
    fc.string({ minLength: 30, maxLength: 80, unit: fc.constantFrom('"', '\\', 'a', 'é') }),
  )
  fc.assert(
    fc.property(fc.dictionary(key, value), fc.constantFrom(undefined, 1, '\t'), (object, indent) => {
      const text = JSON.stringify(object, null, indent)
      const whole = JSON.parse(text) as Record<string, unknown>
      const wanted = Object.fromEntries(Object.entries(whole).filter(([name]) => names.includes(name)))
      expect(fieldsOf(text, names)).toEqual(wanted)
    }),
  )
})

test('an object that was cut anywhere is none', () => {
  const text = '{"messages":[{"role":"user","content":"a \\"quote\\" and }"}],"model":"m"}'
  for (let end = 0; end < text.length; end += 1) expect(fieldsOf(text.slice(0, end), ['model'])).toBeUndefined()
  expect(fieldsOf(text, ['model'])).toEqual({ model: 'm' })
})

test('long objects are looked through with pauses, and the result is the same', () => {
  const long = JSON.stringify({ numbers: Array.from({ length: 200_000 }, (_, i) => i), model: 'm' })
  const scan = jsonFields(bytesOf(long), ['model'])
  let pauses = 0
  let step = scan.next()
  for (; !step.done; step = scan.next()) pauses += 1
  expect(pauses).toBeGreaterThan(5)
  expect(step.value!.get('model')).toEqual([[long.length - 4, long.length - 1]])
})

test('no bytes at all make it fail', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      expect(() => withoutPause(jsonFields(Uint8Array.from([0x7b, 0x22, ...bytes]), ['model']))).not.toThrow()
    }),
  )
})
