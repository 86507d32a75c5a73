import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AnswerParser } from './answer-parser.ts'

interface Read {
  status: number | undefined
  headers: string[]
  body: string
  isEnded: boolean
  mayKeepAlive: boolean | undefined
}

/** Reads an answer that arrives in these pieces; `isClosed` says that the connection ends after them. */
function read(pieces: readonly string[], { method = 'POST', isClosed = false } = {}): Read {
  const seen: Read = { status: undefined, headers: [], body: '', isEnded: false, mayKeepAlive: undefined }
  const parser = new AnswerParser(method, {
    onHead({ statusCode, rawHeaders, mayKeepAlive }) {
      seen.status = statusCode
      seen.headers = rawHeaders
      seen.mayKeepAlive = mayKeepAlive
    },
    onBody: (piece) => (seen.body += piece.toString('latin1')),
    onEnd: () => (seen.isEnded = true),
  })
  for (const piece of pieces) parser.push(Buffer.from(piece, 'latin1'))
  if (isClosed) parser.close()
  return seen
}

const OK = 'HTTP/1.1 200 OK\r\n'
const whole = {
  'with a length': `${OK}content-length: 5\r\nX-A:  b \r\n\r\nhello`,
  'in chunks': `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nx-trailer: 1\r\n\r\n`,
  empty: `${OK}content-length: 0\r\n\r\n`,
  'after others': `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${OK}content-length: 2\r\n\r\nok`,
}

describe('an answer', () => {
  test.each(Object.entries(whole))('%s is the same however it is cut', (_, text) => {
    const expected = read([text])
    expect(expected).toMatchObject({ status: 200, isEnded: true, mayKeepAlive: true })
    const cuts = fc.array(fc.nat(text.length), { maxLength: 12 })
    fc.assert(
      fc.property(cuts, (at) => {
        const places = [0, ...at.toSorted((a, b) => a - b), text.length]
        const pieces = places.slice(1).map((end, i) => text.slice(places[i], end))
        expect(read(pieces.filter((piece) => piece !== ''))).toEqual(expected)
      }),
    )
  })

  test('keeps its headers as they came, several of a name and all', () => {
    const { headers } = read([`${OK}Set-Cookie: a\r\nset-cookie: b\r\nX-Empty:\r\ncontent-length: 0\r\n\r\n`])
    expect(headers).toEqual(['Set-Cookie', 'a', 'set-cookie', 'b', 'X-Empty', '', 'content-length', '0'])
  })

  test('without a length ends with the connection, which is not kept', () => {
    expect(read([`${OK}\r\nhel`, 'lo'], { isClosed: true })).toMatchObject({
      body: 'hello',
      isEnded: true,
      mayKeepAlive: false,
    })
    expect(read([`${OK}\r\nhel`]).isEnded).toBe(false)
  })

  test.each([
    ['HEAD', `${OK}content-length: 500\r\n\r\n`],
    ['POST', 'HTTP/1.1 204 No Content\r\n\r\n'],
    ['POST', 'HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n'],
  ])('to %s may have no body: %j', (method, text) => {
    expect(read([text], { method })).toMatchObject({ body: '', isEnded: true })
  })

  test.each([
    ['1.1', 'close', false],
    ['1.1', 'Keep-Alive', true],
    ['1.0', 'keep-alive', true],
    ['1.0', 'x', false],
  ])('HTTP/%s with "connection: %s" may be kept: %s', (version, connection, mayKeepAlive) => {
    const text = `HTTP/${version} 200 OK\r\nconnection: ${connection}\r\ncontent-length: 0\r\n\r\n`
    expect(read([text])).toMatchObject({ mayKeepAlive })
  })

  test('that breaks off is not whole', () => {
    for (const text of Object.values(whole)) {
      if (text.endsWith('\r\n\r\n')) continue
      expect(read([text.slice(0, -1)], { isClosed: true }).isEnded).toBe(false)
    }
  })
})

test('after 20 answers before the answer there is no other', () => {
  const interim = 'HTTP/1.1 100 Continue\r\n\r\n'
  const answer = `${OK}content-length: 2\r\n\r\nok`
  expect(read([interim.repeat(20), answer])).toMatchObject({ status: 200, body: 'ok' })
  expect(() => read([interim.repeat(21)])).toThrow('more than 20 interim answers')
  expect(() => read(Array.from({ length: 21 }, () => interim))).toThrow('more than 20 interim answers')
})

test('what begins as the stream before it is read as that was, and nothing else is', () => {
  const stream = `${OK}x-a: 1\r\ntransfer-encoding: chunked\r\n\r\n`
  const chunks = '2\r\nok\r\n0\r\n\r\n'
  const first = read([stream + chunks])
  expect(first).toMatchObject({ status: 200, body: 'ok', isEnded: true })
  expect(read([stream, chunks])).toEqual(first)
  expect(read([stream], { method: 'HEAD' })).toMatchObject({ body: '', isEnded: true })
  expect(read([stream.replace('x-a: 1', 'x-a: 2') + chunks]).headers).toContain('2')
  expect(read([stream.replace('200', '404') + chunks]).status).toBe(404)
  expect(() => read([stream.replace('x-a: 1', 'x-a:\r1') + chunks])).toThrow(Error)
})

test.each([
  ['another protocol', 'SSH-2.0-x\r\n\r\n'],
  ['HTTP/2', 'HTTP/2 200\r\n\r\n'],
  ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
  ['a switch of protocols', 'HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n'],
  ['a header without a colon', `${OK}nonsense\r\n\r\n`],
  ['a header with a space before the colon', `${OK}content-length : 5\r\n\r\nhello`],
  ['a folded header', `${OK}a: b\r\n c\r\n\r\n`],
  ['a header with a bare CR in it', `${OK}a: b\rc: d\r\ncontent-length: 0\r\n\r\n`],
  ['a header with a bare LF in it', `${OK}a: b\nc: d\r\ncontent-length: 0\r\n\r\n`],
  ['a reason with a bare LF in it', `HTTP/1.1 200 O\nK\r\ncontent-length: 0\r\n\r\n`],
  ['one length twice', `${OK}content-length: 5\r\ncontent-length: 5\r\n\r\nhello`],
  ['a coding twice', `${OK}transfer-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['two lengths', `${OK}content-length: 5\r\ncontent-length: 6\r\n\r\nhello`],
  ['a length and chunks', `${OK}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['a length that is none', `${OK}content-length: 5x\r\n\r\nhello`],
  ['a negative length', `${OK}content-length: -5\r\n\r\n`],
  ['another encoding', `${OK}transfer-encoding: gzip, chunked\r\n\r\n`],
  ['a chunk without a size', `${OK}transfer-encoding: chunked\r\n\r\nzz\r\n`],
  ['a chunk longer than it says', `${OK}transfer-encoding: chunked\r\n\r\n2\r\nhello\r\n`],
  ['more than one answer', `${OK}content-length: 0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n`],
  ['an endless head', `${OK}a: ${'x'.repeat(70_000)}`],
])('%s is an error', (_, text) => {
  expect(() => read([text])).toThrow(Error)
})
