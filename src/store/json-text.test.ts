import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { jsonText } from './json-text.ts'

describe('a column of JSON', () => {
  const column = jsonText(z.object({ devices: z.array(z.object({ bytes: z.number() })) }))

  test('is parsed and checked', () => {
    expect(column.parse('{"devices":[{"bytes":1,"more":2}]}')).toEqual({ devices: [{ bytes: 1 }] })
    expect(() => column.parse('{"devices":[{"bytes":"1"}]}')).toThrow('bytes')
    expect(() => column.parse('{')).toThrow(SyntaxError)
  })

  test('the same text gives the same object, which is frozen', () => {
    const text = '{"devices":[{"bytes":3}]}'
    const first = column.parse(text)
    expect(column.parse(text)).toBe(first)
    expect(() => first.devices.push({ bytes: 4 })).toThrow(TypeError)
    expect(() => Object.assign(first.devices[0]!, { bytes: 4 })).toThrow(TypeError)
  })

  test('however many texts come, each is read as it is', () => {
    for (let bytes = 0; bytes < 5000; bytes += 1) {
      expect(column.parse(`{"devices":[{"bytes":${bytes}}]}`).devices).toEqual([{ bytes }])
    }
  })

  test('one that holds nothing is null every time', () => {
    const nullable = jsonText(z.string().nullable())
    expect([nullable.parse('null'), nullable.parse('null')]).toEqual([null, null])
  })
})
