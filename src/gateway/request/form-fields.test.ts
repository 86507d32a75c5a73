import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { withoutPause } from '../../core/lib/json-fields.ts'
import { boundaryOf, formFields } from './form-fields.ts'

const fieldsOf = (body: string | Buffer, boundary = 'b'): Record<string, string> =>
  Object.fromEntries(withoutPause(formFields(Buffer.from(body), boundary, ['model', 'stream'])))
const part = (head: string, value: string): string => `--b\r\n${head}\r\n\r\n${value}\r\n`
const field = (name: string, value: string): string => part(`Content-Disposition: form-data; name="${name}"`, value)

describe('fields', () => {
  test.each([
    ['the only one', field('model', 'm')],
    [
      'after a file',
      part('Content-Disposition: form-data; name="file"; filename="a.wav"', '\0\r\n--c') + field('model', 'm'),
    ],
    ['before a file', field('model', 'm') + part('content-disposition: form-data; name=file; filename=a', '--b')],
    ['with more headers', part('Content-Type: text/plain\r\nCONTENT-DISPOSITION: form-data; name="model"', 'm')],
    ['without quotes', part('content-disposition: form-data; name=model', 'm')],
    ['after words for nobody', `preamble\r\n${field('model', 'm')}`],
  ])('are found: %s', (_, parts) => {
    expect(fieldsOf(`${parts}--b--\r\n`)).toEqual({ model: 'm' })
  })

  test('a file that is called like one is none; neither is one that is nested in a name', () => {
    const file = part('content-disposition: form-data; name="model"; filename="x"', 'not me')
    const odd = part('content-disposition: form-data; x="; name=model"; name="other"', 'not me')
    expect(fieldsOf(`${file}${odd}--b--`)).toEqual({})
  })

  test('of several the last one counts; an empty one is there; a very long one is not', () => {
    expect(fieldsOf(`${field('model', 'a')}${field('model', 'b')}${field('stream', '')}--b--`)).toEqual({
      model: 'b',
      stream: '',
    })
    expect(fieldsOf(`${field('model', 'x'.repeat(5000))}--b--`)).toEqual({})
  })

  test('are found behind a file of megabytes, with pauses', () => {
    const file = part('content-disposition: form-data; name="file"; filename="a"', '\r\n--'.repeat(4_000_000))
    const scan = formFields(Buffer.from(`${file}${field('model', 'm')}--b--`), 'b', ['model'])
    let pauses = 0
    let step = scan.next()
    for (; !step.done; step = scan.next()) pauses += 1
    expect([Object.fromEntries(step.value), pauses]).toEqual([{ model: 'm' }, 3])
  })

  test('that FormData has written are found, whatever stands around them', async () => {
    const others = fc.array(fc.tuple(fc.string(), fc.uint8Array({ maxLength: 200 }), fc.boolean()), { maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(others, fc.nat(5), fc.string({ minLength: 1 }), async (parts, place, model) => {
        // A form turns line ends into what they are in mail.
        const text = model.replaceAll(/[\r\n]/g, '')
        const form = new FormData()
        parts.splice(place, 0, ['model', Buffer.from(text), false])
        for (const [name, bytes, isFile] of parts) {
          const other = name === 'stream' ? 'other' : name
          if (isFile) form.append(other, new Blob([Uint8Array.from(bytes)]), 'file.bin')
          else if (other === 'model') form.append('model', text)
          else form.append(other, Buffer.from(bytes).toString('latin1'))
        }
        const request = new Request('http://a', { method: 'POST', body: form })
        const boundary = boundaryOf(request.headers.get('content-type')!)
        expect(fieldsOf(Buffer.from(await request.arrayBuffer()), boundary)).toEqual({ model: text })
      }),
    )
  })
})

describe('forms that are none', () => {
  test.each([
    ['nothing', ''],
    ['another boundary', '--c\r\ncontent-disposition: form-data; name=model\r\n\r\nm\r\n--c--'],
    ['a head that does not end', '--b\r\ncontent-disposition'],
    ['a part that does not end', '--b\r\ncontent-disposition: form-data; name=model\r\n\r\nm'],
    ['no end', field('model', 'm')],
  ])('%s', (_, body) => {
    expect(() => fieldsOf(body)).toThrow('does not end with the boundary')
  })

  test('more parts than anybody needs', () => {
    expect(() => fieldsOf(field('x', '').repeat(1002))).toThrow('more than 1000 parts')
  })
})

test.each([
  ['multipart/form-data; boundary=abc', 'abc'],
  ['multipart/form-data; charset=utf-8; Boundary="a b;c"; x=y', 'a b;c'],
  ['multipart/form-data;boundary=----X1', '----X1'],
])('%s', (type, boundary) => {
  expect(boundaryOf(type)).toBe(boundary)
})

test('a type without a boundary is told how to get one', () => {
  expect(() => boundaryOf('multipart/form-data')).toThrow('set this header by itself')
})
