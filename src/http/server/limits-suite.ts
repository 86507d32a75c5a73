import { request as httpsRequest } from 'node:https'
import { describe, expect, test } from 'vitest'
import { rawClient, type RawClient } from '../../../test/support/http/raw-client.ts'
import { until } from '../../../test/support/until.ts'
import type { ExchangeHandler, HttpResponse } from '../exchange.ts'
import { readBody } from '../server.ts'
import type { HttpLimits } from './limits.ts'
import { request as httpRequest } from './node-http.ts'

const echo: ExchangeHandler = async (request, response) => {
  response.end(`${request.method} ${request.url} ${(await readBody(request, 1000)).toString()}`)
}

/** The error of an answer that closes its connection. */
function errorIn(answer: string): { status: number; message: string; code: string; headers: string } {
  const [headers = '', body = ''] = answer.split('\r\n\r\n', 2)
  const { message, code } = (JSON.parse(body) as { error: { message: string; code: string } }).error
  expect(headers.toLowerCase()).toContain('connection: close')
  return { status: Number(headers.split(' ')[1]), message, code, headers: headers.toLowerCase() }
}

/** With an ordinary client; it accepts any certificate. */
function post(url: string, body: Buffer): Promise<{ status: number | undefined; text: string }> {
  const request = url.startsWith('https:') ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method: 'POST', rejectUnauthorized: false }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      answer.once('end', () => resolve({ status: answer.statusCode, text })).once('error', reject)
    })
    outgoing.once('error', reject).end(body)
  })
}

/**
 * What clients may do, for each kind of server. `serve` starts a server and returns its URL. Mux streams (`onStrands`) begin
 * with their first byte, and do not count as connections.
 */
export function httpLimitsSuite(
  serve: (handler: ExchangeHandler, limits: Partial<HttpLimits>) => Promise<string>,
  onStrands = false,
): void {
  const aServer = async (
    handler: ExchangeHandler = echo,
    limits: Partial<HttpLimits> = {},
  ): Promise<{ url: string; client: RawClient }> => {
    const url = await serve(handler, limits)
    return { url, client: await rawClient(url) }
  }

  describe('heads', () => {
    test.each([
      ['no HTTP at all', 'hello\r\n\r\n', 400, 'not a valid HTTP request'],
      ['HTTPS', Buffer.from('160301020001000200', 'hex'), 400, 'http://'],
      ['a version that there is not', 'GET / HTTP/9.9\r\nhost: a\r\n\r\n', 400, 'not a valid HTTP request'],
      ['a header without a name', 'GET / HTTP/1.1\r\nhost: a\r\n: x\r\n\r\n', 400, 'not a valid HTTP request'],
      [
        'a header with a line break in it',
        'GET / HTTP/1.1\r\nhost: a\r\nx: a\n b\r\n\r\n',
        400,
        'not a valid HTTP request',
      ],
      [
        'two lengths',
        'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx',
        400,
        'Content-Length',
      ],
      [
        'a length and chunks',
        'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
        400,
        'Content-Length',
      ],
      ['a length that is none', 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n', 400, 'Content-Length'],
      ['a header that does not end', `GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(20_000)}`, 431, '16384 bytes'],
      ['an address that does not end', `GET /${'y'.repeat(20_000)}`, 431, '16384 bytes'],
      [
        'lines that end with a bare LF',
        'POST /x HTTP/1.1\nhost: a\ncontent-length: 2\n\nab',
        400,
        'not a valid HTTP request',
      ],
      ['one line of a head that does', 'GET /x HTTP/1.1\r\nhost: a\n', 400, 'not a valid HTTP request'],
    ])('%s', async (_, text, status, message) => {
      const { client } = await aServer()
      client.send(text)
      const answer = await client.closes()
      expect(errorIn(answer)).toMatchObject({ status, message: expect.stringContaining(message) as string })
      expect(answer).not.toMatch(/\bat .*(\.ts|node:)/)
    })

    test.each([
      ['too many headers', `GET / HTTP/1.1\r\nhost: a\r\n${'x: y\r\n'.repeat(300)}\r\n`, 431, 'more than 200 headers'],
      ['no host', 'GET / HTTP/1.1\r\n\r\n', 400, 'no Host header'],
      [
        'an unknown transfer coding',
        'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
        501,
        'gzip, chunked',
      ],
      ['an expectation', 'POST / HTTP/1.1\r\nhost: a\r\nexpect: a-pony\r\ncontent-length: 1\r\n\r\n', 417, 'a-pony'],
    ])('%s', async (_, text, status, message) => {
      let asked = 0
      const { client } = await aServer(() => void (asked += 1))
      client.send(text)
      await client.reads(message)
      expect(client.text()).toContain(`HTTP/1.1 ${status} `)
      expect(asked).toBe(0)
    })

    test('HTTP/1.0 needs no host', async () => {
      const { client } = await aServer()
      client.send('GET /old HTTP/1.0\r\n\r\n')
      expect(await client.closes()).toContain('GET /old')
    })
  })

  describe('slow clients', () => {
    test.each([...(onStrands ? [] : [['nothing at all', '']]), ['half a head', 'GET / HTTP/1.1\r\nhost: a\r\nx: ']])(
      '%s in time: 408',
      async (_, text) => {
        const { client } = await aServer(echo, { headMs: 100 })
        client.send(text)
        expect(errorIn(await client.closes())).toMatchObject({ status: 408, code: 'timeout' })
      },
    )

    test('a head that comes drop by drop has no more time for that', async () => {
      const { client } = await aServer(echo, { headMs: 200 })
      client.send('GET / HTTP/1.1\r\nhost: a\r\n')
      const drip = setInterval(() => client.send('x: y\r\n'), 20)
      expect(errorIn(await client.closes())).toMatchObject({ status: 408 })
      clearInterval(drip)
    })

    test('a body that stops coming: 408 that says why', async () => {
      const { client } = await aServer(echo, { bodySilenceMs: 100 })
      client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhalf')
      await client.reads('Content-Length')
      client.endSending()
      expect(errorIn(await client.closes())).toMatchObject({ status: 408, code: 'timeout' })
    })

    test('a body that comes slowly may take longer than that', async () => {
      const { client } = await aServer(echo, { bodySilenceMs: 400 })
      client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 30\r\n\r\n')
      let sent = 0
      const drip = setInterval(() => {
        client.send('x')
        sent += 1
        if (sent === 30) clearInterval(drip)
      }, 25)
      expect(await client.reads('x'.repeat(30))).toContain('200 OK')
    })

    test('a client that waits for the server to read is not slow', async () => {
      let read = (): void => {}
      const { client } = await aServer(
        (request, response) => {
          read = () => void readBody(request, 1e9).then((body) => response.end(`read ${body.length}`))
        },
        { bodySilenceMs: 100 },
      )
      client.send(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5000000\r\n\r\n`)
      client.send(Buffer.alloc(5_000_000))
      await new Promise((resolve) => setTimeout(resolve, 300))
      read()
      expect(await client.reads('read 5000000')).toContain('200 OK')
    })

    test('an answer may last for as long as it likes', async () => {
      let finish = (): void => {}
      const { client } = await aServer(
        (_, response) => {
          response.write('begun')
          finish = () => void response.end('done')
        },
        { headMs: 50, bodySilenceMs: 50 },
      )
      client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
      await client.reads('begun')
      await new Promise((resolve) => setTimeout(resolve, 300))
      finish()
      expect(await client.reads('done')).toContain('200 OK')
    })
  })

  describe('connections', () => {
    const countedTest = onStrands ? () => {} : test
    countedTest('beyond the limit are told so and closed, and there is place again when others have gone', async () => {
      const url = await serve(echo, { connections: 2 })
      const first = await rawClient(url)
      const second = await rawClient(url)
      const third = await rawClient(url)
      third.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
      const refused = errorIn(await third.closes())
      expect(refused).toMatchObject({ status: 503, message: expect.stringContaining('All 2 connections') as string })
      expect(refused.headers).toContain('retry-after: 5')
      second.send('GET /second HTTP/1.1\r\nhost: a\r\n\r\n')
      await second.reads('GET /second')
      first.socket.destroy()
      await until(async () => {
        const next = await rawClient(url)
        next.send('GET /next HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
        return (await next.closes()).includes('GET /next')
      })
    })

    test('are kept for the next request', async () => {
      const { client } = await aServer()
      for (const n of [1, 2, 3]) {
        client.send(`POST /${n} HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi`)
        await client.reads(`POST /${n} hi`)
      }
      expect(client.isClosed()).toBe(false)
    })

    test('with several requests at once get their answers in order, whichever is ready first', async () => {
      const waiting = new Map<string, HttpResponse>()
      const { client } = await aServer((request, response) => void waiting.set(request.url!, response))
      client.send(['/1', '/2', '/3'].map((path) => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`).join(''))
      await until(() => waiting.size === 3)
      for (const path of ['/3', '/2', '/1']) waiting.get(path)!.end(`<${path}>`)
      await client.reads('</3>')
      expect(client.text().match(/<\/\d>/g)).toEqual(['</1>', '</2>', '</3>'])
    })

    test('whose second request is none get the first answer, and then what is wrong', async () => {
      let finish = (): void => {}
      const { client } = await aServer((_, response) => {
        response.write('begun ')
        finish = () => void response.end('done')
      })
      client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\nnonsense\r\n\r\n')
      await client.reads('begun')
      finish()
      const text = await client.closes()
      expect(text).toMatch(/begun [\s\S]*done[\s\S]*HTTP\/1\.1 400 Bad Request/)
    })
  })

  describe('a body', () => {
    test('in chunks is put together', async () => {
      const { client } = await aServer()
      client.send('POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n')
      for (const part of ['3\r\nabc\r\n', '2;x=y\r\nde\r\n', '0\r\n\r\n']) client.send(part)
      expect(await client.reads('POST / abcde')).toContain('200 OK')
    })

    test('with a chunk that is none: 400', async () => {
      const { client } = await aServer()
      client.send('POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n')
      expect(errorIn(await client.closes())).toMatchObject({ status: 400 })
    })

    test('that is shorter than was said, and no more will come: 400', async () => {
      const { client } = await aServer()
      client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhalf')
      client.endSending()
      const { status, message } = errorIn(await client.closes())
      expect([status, message]).toEqual([400, 'The connection ended before the whole request had arrived.'])
    })

    test('that is longer than was said: the request is answered, what follows is none', async () => {
      const { client } = await aServer()
      client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi, and more')
      expect(await client.closes()).toMatch(/POST \/ hi[\s\S]*HTTP\/1\.1 400 Bad Request/)
    })

    test('that is too long is refused so that a client that goes on sending gets the answer', async () => {
      const url = await serve(echo, {})
      const { status, text } = await post(url, Buffer.alloc(30_000_000))
      expect(status).toBe(413)
      expect(text).toContain('limit of 1000 bytes')
    })
  })

  describe('"Expect: 100-continue"', () => {
    const head = 'POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n'

    test('lets the client go on when its body is wanted', async () => {
      const { client } = await aServer()
      client.send(head)
      await client.reads('HTTP/1.1 100 Continue')
      expect(client.text()).not.toContain('200')
      client.send('hi')
      await client.reads('POST / hi')
    })

    test('is not answered when the head is refused: the body never travels', async () => {
      const { client } = await aServer((_, response) => void response.writeHead(401, { connection: 'close' }).end('no'))
      client.send(head)
      expect(await client.closes()).toMatch(/^HTTP\/1\.1 401/)
    })

    test('is answered with the error alone when the body would be too long', async () => {
      const { client } = await aServer(async (request) => void (await readBody(request, 1)))
      client.send(head)
      expect(await client.reads('limit of 1 bytes')).toMatch(/^HTTP\/1\.1 413/)
    })

    test('and a body that does not wait for it do no harm', async () => {
      const { client } = await aServer()
      client.send(`${head}hi`)
      expect(await client.reads('POST / hi')).toContain('200 OK')
    })
  })
}
