import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sendJson } from '../../http/server.ts'
import { serve } from '../../../test/support/http/http.ts'
import { rawClient } from '../../../test/support/http/raw-client.ts'
import { readRequest } from './read-request.ts'

interface Read {
  status: number
  model?: string
  isStream?: boolean
  sessionKey?: string
  bytes?: number
  error?: { message: string; code: string; param: string | null }
}

/** Sends a request to a server that reads it; returns what was read. */
async function read(init: RequestInit = {}, path = '/v1/x', mostBodyBytes?: number): Promise<Read> {
  const url = await aReader(mostBodyBytes)
  const response = await fetch(url + path, { method: 'POST', ...init })
  return { status: response.status, ...((await response.json()) as object) }
}

function aReader(mostBodyBytes?: number): Promise<string> {
  return serve(async (request, response) => {
    const { body, ...rest } = await readRequest(request, mostBodyBytes === undefined ? {} : { mostBodyBytes })
    sendJson(response, 200, { ...rest, bytes: body.length })
  })
}

const json = (value: unknown, headers: Record<string, string> = {}): RequestInit => ({
  body: typeof value === 'string' ? value : JSON.stringify(value),
  headers: { 'content-type': 'application/json', ...headers },
})
/** So long that it is not parsed. */
const PADDING = 'x'.repeat(300_000)

describe.each([
  ['short', {}],
  ['long', { padding: PADDING }],
])('in JSON that is %s', (_, more) => {
  test('model, stream and session are found', async () => {
    const request = json({
      ...more,
      messages: [{ model: 'inner', user: 'inner' }],
      model: 'org/modèle',
      stream: true,
      user: 'u1',
    })
    expect(await read(request)).toMatchObject({ status: 200, model: 'org/modèle', isStream: true, sessionKey: 'u1' })
  })

  test('what is not there is not found', async () => {
    const found = await read(json({ ...more, model: 'm', stream: 'yes', user: 7, metadata: 'text' }))
    expect(found).toEqual({ status: 200, model: 'm', isStream: false, bytes: found.bytes })
  })

  test.each([
    ['the header first', { 'x-session-id': 'h' }, { user: 'u', metadata: { user_id: 'a' } }, 'h'],
    ['then the user', {}, { user: 'u', metadata: { user_id: 'a' } }, 'u'],
    ['then the user of Anthropic’s clients', {}, { metadata: { other: [1], user_id: 'a' } }, 'a'],
    ['an empty one is none', { 'x-session-id': '' }, { user: '', metadata: { user_id: 'a' } }, 'a'],
  ])('a session is named by: %s', async (_name, headers, fields, sessionKey) => {
    expect(await read(json({ ...more, model: 'm', ...fields }, headers))).toMatchObject({ sessionKey })
  })

  test.each([
    ['none', {}],
    ['an empty one', { model: '' }],
    ['a number', { model: 5 }],
    ['null', { model: null }],
    ['a list', { model: ['m'] }],
    ['one that is too long', { model: 'm'.repeat(2000) }],
    ['one that is far too long', { model: 'm'.repeat(100_000) }],
  ])('a model that is %s: 400 about "model"', async (_name, fields) => {
    const { status, error } = await read(json({ ...more, ...fields }))
    expect([status, error?.param]).toEqual([400, 'model'])
    expect(error?.message).toContain('GET /v1/models')
  })

  test('the last one counts where there are two, as it does for engines', async () => {
    const text = JSON.stringify({ model: 'first', ...more })
    expect(await read(json(`${text.slice(0, -1)},"model":"last"}`))).toMatchObject({ model: 'last' })
  })

  test('the query is asked where the body names none, and only there', async () => {
    expect(await read(json({ ...more }), '/v1/x?a=1&model=org%2Fm')).toMatchObject({ model: 'org/m' })
    expect(await read(json({ ...more, model: 'm' }), '/v1/x?model=other')).toMatchObject({ model: 'm' })
    expect(await read(json({ ...more, model: 5 }), '/v1/x?model=other')).toMatchObject({ status: 400 })
  })
})

describe('mistakes in JSON', () => {
  test.each([
    ['{"model":"m",}', 'at position 13 (line 1, column 14)'],
    ['{"model":"m"\n "n":1}', 'at position 14 (line 2, column 2)'],
    ['{"model":"m"', 'ends too early, at position 12'],
    [`{"model":"m","p":"${PADDING}`, 'not a complete JSON object'],
    ['', 'empty'],
  ])('%.20s: 400 that says where', async (text, message) => {
    const { status, error } = await read(json(text))
    expect(status).toBe(400)
    expect(error?.message).toContain(message)
  })
})

describe('types', () => {
  test.each([
    'application/json; charset=utf-8',
    'application/vnd.api+json',
    'text/plain',
    'application/x-www-form-urlencoded',
    '',
  ])('what looks like JSON is taken for it: %s', async (type) => {
    const headers: Record<string, string> = type ? { 'content-type': type } : {}
    expect(await read({ body: Buffer.from(' {"model":"m"}'), headers })).toMatchObject({ status: 200, model: 'm' })
  })

  test('bytes need a model in the query, and have it', async () => {
    const audio = { body: Buffer.from([1, 2, 3]), headers: { 'content-type': 'audio/wav' } }
    expect(await read(audio, '/v1/x?model=m')).toEqual({ status: 200, model: 'm', isStream: false, bytes: 3 })
    const { status, error } = await read(audio)
    expect([status, error?.code]).toEqual([415, 'unsupported_media_type'])
    expect(error?.message).toContain('?model=')
  })

  test('a form of the old kind is not understood: 415', async () => {
    const { status, error } = await read({ body: new URLSearchParams({ model: 'm' }) })
    expect(status).toBe(415)
    expect(error?.message).toContain('application/json')
  })

  test('no body at all: 400', async () => {
    const { status, error } = await read()
    expect([status, error?.param]).toEqual([400, 'model'])
  })

  test.each(['gzip', 'br', 'GZIP'])('a compressed body (%s): 415', async (coding) => {
    const { status, error } = await read(json({ model: 'm' }, { 'content-encoding': coding }))
    expect(status).toBe(415)
    expect(error?.message).toContain('without compression')
  })
})

describe('limits', () => {
  test('a body above the limit: 413 that names it', async () => {
    const { status, error } = await read(json({ model: 'm', padding: PADDING }), '/v1/x', 1000)
    expect(status).toBe(413)
    expect(error?.message).toContain('1000 bytes')
  })

  test('a body up to the limit, byte by byte', async () => {
    const body = JSON.stringify({ model: 'm' })
    expect(await read(json(body), '/v1/x', body.length)).toMatchObject({ status: 200, bytes: body.length })
    expect(await read(json(body), '/v1/x', body.length - 1)).toMatchObject({ status: 413 })
  })

  test('one that ends before its time: 400', async () => {
    const client = await rawClient(await aReader())
    client.send('POST /v1/x HTTP/1.1\r\nhost: a\r\ncontent-length: 20\r\n\r\n{"model"')
    client.endSending()
    expect(await client.closes()).toMatch(/^HTTP\/1\.1 400 [\s\S]*ended before the whole/)
  })

  test('in the longest bodies the event loop goes on turning', async () => {
    const url = await aReader()
    const body = Buffer.from(JSON.stringify({ input: Array.from({ length: 3_000_000 }, (_, i) => i), model: 'm' }))
    let turns = 0
    let isTurning = true
    const turn = (): void => {
      turns += 1
      if (isTurning) setImmediate(turn)
    }
    const asked = fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    setImmediate(turn)
    expect(await (await asked).json()).toMatchObject({ model: 'm', bytes: body.length })
    isTurning = false
    expect(turns).toBeGreaterThan(50)
  })
})

test('whatever bytes are sent as whatever type, the answer is a model or a 4xx', async () => {
  const url = await aReader(2000)
  const type = fc.constantFrom(
    'application/json',
    'multipart/form-data; boundary=b',
    'multipart/form-data',
    'text/plain',
  )
  const piece = fc.oneof(fc.string(), fc.constantFrom('{', '}', '"model"', ':', '"m"', '--b', '\r\n', '\r\n\r\n', '--'))
  await fc.assert(
    fc.asyncProperty(type, fc.array(piece, { maxLength: 30 }), async (contentType, pieces) => {
      const init = { method: 'POST', body: pieces.join(''), headers: { 'content-type': contentType } }
      const { status } = await fetch(url, init)
      expect(status === 200 || (status >= 400 && status < 500)).toBe(true)
    }),
  )
})
