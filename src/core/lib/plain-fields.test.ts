import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { plainFields, type PlainFields } from './plain-fields.ts'

const fieldsOf = (text: string): PlainFields | undefined => plainFields(Buffer.from(text), 0)

describe('what it finds', () => {
  test.each<[string, PlainFields]>([
    ['{"model":"m"}', { model: 'm', user: undefined, isStream: false }],
    ['{"model":"m","stream":true,"user":"u"}', { model: 'm', user: 'u', isStream: true }],
    ['{"model":"m","stream":false,"user":""}', { model: 'm', user: undefined, isStream: false }],
    [' \r\n\t{ "model" : "a/b:c" , "n" : [ ] } \n', { model: 'a/b:c', user: undefined, isStream: false }],
    ['{"x":{"model":"other","stream":true},"model":"m"}', { model: 'm', user: undefined, isStream: false }],
    ['{"n":[-0,1.5e-3,0E+7,[],{},{"\\u0061":null}],"model":"m"}', { model: 'm', user: undefined, isStream: false }],
    [`{"model":"${'m'.repeat(1022)}"}`, { model: 'm'.repeat(1022), user: undefined, isStream: false }],
  ])('%s', (text, fields) => {
    expect(fieldsOf(text)).toEqual(fields)
  })

  test('is the model that is named, however much it is like one that was named before', () => {
    const names = ['abcdef', 'abxdef', 'abcdef', 'abcde', 'abcdef"', 'abcdéf', 'acbdef']
    const found = names.map((model) => fieldsOf(JSON.stringify({ model }))?.model)
    expect(found).toEqual(names.map((name) => (/^\w+$/.test(name) ? name : undefined)))
  })

  test('begins where it is told to', () => {
    const head = 'POST / HTTP/1.1\r\n\r\n'
    expect(plainFields(Buffer.from(`${head}{"model":"m"}`), head.length)).toMatchObject({ model: 'm' })
  })
})

describe('what it leaves to a real parser', () => {
  test.each([
    ['nothing', ''],
    ['no object', '["model"]'],
    ['no model', '{"user":"u"}'],
    ['an empty model', '{"model":""}'],
    ['a model of another type', '{"model":["m"]}'],
    ['a model with an escape', '{"model":"\\u006d"}'],
    ['a name with an escape', '{"model":"m","\\u006dodel":"n"}'],
    ['a model that is no ASCII', '{"model":"größe"}'],
    ['a model that is too long', `{"model":"${'m'.repeat(1023)}"}`],
    ['a user that is no text', '{"model":"m","user":1}'],
    ['a stream that is no boolean', '{"model":"m","stream":"true"}'],
    ['a stream that is null', '{"model":"m","stream":null}'],
    ['two models', '{"model":"m","model":"n"}'],
    ['two users, the first of them empty', '{"model":"m","user":"","user":"u"}'],
    ['two streams', '{"model":"m","stream":false,"stream":true}'],
    ['metadata, where a user may be', '{"model":"m","metadata":{"user_id":"u"}}'],
    ['a byte order mark', '\ufeff{"model":"m"}'],
    ['something after it', '{"model":"m"}{}'],
    ['a comma too many', '{"model":"m",}'],
    ['a comma too many in a list', '{"model":"m","n":[1,]}'],
    ['a number with a zero before it', '{"model":"m","n":01}'],
    ['a number that is cut', '{"model":"m","n":1.}'],
    ['a plus', '{"model":"m","n":+1}'],
    ['a word that is none', '{"model":"m","n":nul}'],
    ['an escape that is none', '{"model":"m","n":"\\x"}'],
    ['half an escape', '{"model":"m","n":"\\u12"}'],
    ['a line break in a text', '{"model":"m","n":"\n"}'],
    ['what is nested too deep', `{"model":"m","n":${'['.repeat(40)}${']'.repeat(40)}}`],
  ])('%s', (_, text) => {
    expect(fieldsOf(text)).toBeUndefined()
  })

  test('all that was cut, whatever follows in the same memory', () => {
    const text = '{"a":[1,-2.5e+3,true,null,{"b":"\\u00e9\\n"}],"model":"m","user":"u","stream":false}'
    const memory = Buffer.from(text)
    for (let end = 0; end < text.length; end += 1) expect(plainFields(memory.subarray(0, end), 0)).toBeUndefined()
    expect(plainFields(memory, 0)).toEqual({ model: 'm', user: 'u', isStream: false })
  })
})

describe('whatever it is given', () => {
  const word = fc.constantFrom('"model"', '"user"', '"stream"', '"metadata"', '"m"', '""', 'true', 'false', 'null')
  const sign = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    ' ',
    '\n',
    '"',
    '\\',
    '\\u00e9',
    '-',
    '0',
    '1',
    '.',
    'e',
    '+',
  )
  const likeJson = fc.array(fc.oneof(word, sign), { maxLength: 20 }).map((parts) => `{"model":"m"${parts.join('')}`)
  const key = fc.oneof(fc.constantFrom('model', 'user', 'stream', 'n', '__proto__', 'größe'), fc.string())
  const value = fc.oneof(fc.jsonValue(), fc.constantFrom<fc.JsonValue>('m', '', true, false))
  const members = fc.array(fc.tuple(key, value), { maxLength: 6 })
  const object = fc.tuple(members, fc.constantFrom(',', ' ,\n')).map(([list, comma]) => {
    const texts = list.map(([name, one]) => `${JSON.stringify(name)}:${JSON.stringify(one)}`)
    return `{${['"model":"m"', ...texts].join(comma)}}`
  })
  const change = fc.record({ at: fc.nat(), byte: fc.nat(255), isCut: fc.boolean() })
  const spoiled = fc.tuple(fc.oneof(object, likeJson), fc.array(change, { maxLength: 2 })).map(([text, changes]) => {
    let bytes = Buffer.from(text)
    for (const { at, byte, isCut } of changes) {
      const place = at % (bytes.length + 1)
      if (isCut) bytes = bytes.subarray(0, place)
      else if (place < bytes.length) bytes[place] = byte
    }
    return bytes
  })
  const anything = fc.oneof(
    spoiled,
    object.map((text) => Buffer.from(text)),
    fc.jsonValue().map((one) => Buffer.from(JSON.stringify(one))),
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from([0x7b, 0x22, ...bytes])),
  )

  test('what it answers is what JSON.parse finds there', () => {
    let answers = 0
    fc.assert(
      fc.property(anything, fc.nat(3), (bytes, before) => {
        const found = plainFields(Buffer.concat([Buffer.alloc(before, '"'), bytes]), before)
        if (!found) return
        answers += 1
        const parsed = JSON.parse(bytes.toString('utf8')) as Record<string, unknown>
        const { model, user, stream } = parsed
        expect(found).toEqual({ model, user: user === '' ? undefined : user, isStream: stream === true })
        expect(['string', 'undefined']).toContain(typeof user)
      }),
      { numRuns: 4000 },
    )
    // Else it would say little.
    expect(answers).toBeGreaterThan(400)
  })

  test('to ordinary questions it has an answer', () => {
    const text = fc.string({ unit: fc.oneof(fc.constantFrom('"', '\\', '\n', '\0', 'é', '😀', '\ud800'), fc.string()) })
    const chat = fc.record(
      {
        messages: fc.array(fc.record({ role: fc.constantFrom('user', 'system'), content: text }), { maxLength: 4 }),
        temperature: fc.double({ noNaN: true, noDefaultInfinity: true }),
        max_tokens: fc.integer(),
        tools: fc.array(fc.jsonValue({ maxDepth: 4 }), { maxLength: 3 }),
        stream: fc.boolean(),
        user: fc.string({ unit: fc.constantFrom('a', '-', ' ', '7') }),
      },
      { requiredKeys: ['messages'] },
    )
    fc.assert(
      fc.property(chat, fc.constantFrom(undefined, 2, '\t'), (asked, indent) => {
        const { user, stream = false } = asked
        const wanted = { model: 'org/name:7b', user: user === '' ? undefined : user, isStream: stream }
        expect(fieldsOf(JSON.stringify({ ...asked, model: wanted.model }, null, indent))).toEqual(wanted)
      }),
      { numRuns: 500 },
    )
  })
})
