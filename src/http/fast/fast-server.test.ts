import { createServer, type AddressInfo, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { serve } from '../../../test/support/http/http.ts'
import { rawClient } from '../../../test/support/http/raw-client.ts'
import { until } from '../../../test/support/until.ts'
import type { ExchangeHandler, HttpResponse } from '../exchange.ts'
import { halfClosedSuite } from '../server/half-closed-suite.ts'
import { httpLimitsSuite } from '../server/limits-suite.ts'
import { defaultHttpLimits, type HttpLimits } from '../server/limits.ts'
import { readBody, startHttpServer } from '../server.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { openWire } from './fast-server.ts'

/** A server that serves all plain requests by the wire. */
function serveByWire(handler: ExchangeHandler, limits: Partial<HttpLimits> = {}): Promise<string> {
  return serve(handler, { limits, wire: { prefix: '/', handler } })
}

describe('limits', () => {
  httpLimitsSuite(serveByWire)
})
describe('half-closed clients', () => {
  halfClosedSuite(serveByWire)
})

/** Tells by which way each request came, and what it said. */
async function aServerOfTwoWays() {
  const by =
    (way: string): ExchangeHandler =>
    async (request, response) =>
      void response.end(`<${way} ${request.url} ${(await readBody(request, 1000)).toString()}>`)
  return rawClient(await serve(by('slow'), { wire: { prefix: '/v1/', handler: by('fast') } }))
}

const PLAIN = 'POST /v1/x HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi'

describe('a request goes', () => {
  test.each([
    ['with a length', PLAIN, '<fast /v1/x hi>'],
    [
      'in chunks',
      'POST /v1/x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n',
      '<fast /v1/x hi>',
    ],
    ['without a body', 'GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n', '<fast /v1/models >'],
  ])('the fast way: %s', async (_, text, answer) => {
    const client = await aServerOfTwoWays()
    client.send(text)
    expect(await client.reads('>')).toContain(answer)
  })

  test.each([
    ['another path', 'GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n', '<slow /metrics >'],
    ['another method', 'PUT /v1/x HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi', '<slow /v1/x hi>'],
    ['the old HTTP', 'POST /v1/x HTTP/1.0\r\ncontent-length: 2\r\n\r\nhi', '<slow /v1/x hi>'],
    [
      'an expectation',
      'POST /v1/x HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\nhi',
      '<slow /v1/x hi>',
    ],
    ['a name twice', 'GET /v1/x HTTP/1.1\r\nhost: a\r\nx: 1\r\nx: 2\r\n\r\n', '<slow /v1/x >'],
  ])('the slow way: %s', async (_, text, answer) => {
    const client = await aServerOfTwoWays()
    client.send(text)
    expect(await client.reads('>')).toContain(answer)
  })

  test('its own way on one connection, and all that follow an unusual one go with it', async () => {
    const client = await aServerOfTwoWays()
    client.send(`${PLAIN}${PLAIN.replace('/v1/x', '/v1/x?n=2')}GET /other HTTP/1.1\r\nhost: a\r\n\r\n${PLAIN}`)
    await client.reads('<slow /v1/x hi>')
    expect(client.text().match(/<[^>]*>/g)).toEqual([
      '<fast /v1/x hi>',
      '<fast /v1/x?n=2 hi>',
      '<slow /other >',
      '<slow /v1/x hi>',
    ])
  })
})

test('an unusual request behind answers that take their time waits for them, also when the client says no more', async () => {
  let first: HttpResponse | undefined
  const url = await serve((_, response) => void response.end('<slow>'), {
    wire: { prefix: '/v1/', handler: (_, response) => void (first = response) },
  })
  const client = await rawClient(url)
  client.send(`${PLAIN}GET /other HTTP/1.1\r\nhost: a\r\n\r\n`)
  client.endSending()
  await until(() => first !== undefined)
  first!.end('<fast>')
  expect(await client.closes()).toMatch(/<fast>[\s\S]*<slow>/)
})

test('hundreds of requests in one piece are answered in their order', async () => {
  const client = await rawClient(await serveByWire((request, response) => void response.end(`<${request.url}>`)))
  const paths = Array.from({ length: 2000 }, (_, i) => `/${i}`)
  client.send(paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`).join(''))
  await client.reads('</1999>')
  expect(client.text().match(/<[^>]*>/g)).toEqual(paths.map((path) => `<${path}>`))
})

test('a header is sent once, with the last value that it was given', async () => {
  const client = await rawClient(
    await serveByWire((_, response) => {
      response.setHeader('X-One', 'a').setHeader('x-one', 'b').setHeader('x-two', 'c')
      response.writeHead(200, { 'X-Two': 'd', 'content-length': '2' }).end('ok')
    }),
  )
  client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  const [head] = (await client.reads('ok')).split('\r\n\r\n')
  expect(head!.match(/^x-.*$/gim)!.toSorted()).toEqual(['X-Two: d', 'x-one: b'])
})

test('a header with a line break in it is an error, and none of it is sent', async () => {
  const client = await rawClient(
    await serveByWire((_, response) => void response.writeHead(200, { 'x-one': 'a\r\nx-two: b' }).end('ok')),
  )
  client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  expect(await client.reads('internal')).not.toContain('x-two')
})

test('an answer that is longer than all buffers waits for its client', async () => {
  let drained = 0
  const client = await rawClient(
    await serveByWire(async (_, response) => {
      for (let i = 0; i < 200; i += 1) {
        if (response.write(Buffer.alloc(100_000, 'x'))) continue
        drained += 1
        await new Promise<void>((resolve) => response.once('drain', resolve))
      }
      response.end('<end>')
    }),
  )
  client.socket.pause()
  client.send('GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
  await until(() => drained > 0)
  client.socket.resume()
  expect(await client.closes()).toContain('<end>')
  expect(client.text().length).toBeGreaterThan(20_000_000)
})

test('a client that goes away is told to the handler', async () => {
  const gone: string[] = []
  const client = await rawClient(
    await serveByWire((request, response) => {
      request.once('close', () => gone.push('request'))
      response.once('close', () => gone.push('response'))
      request.socket.once('close', () => gone.push('connection'))
    }),
  )
  client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhalf')
  await until(() => client.socket.bytesWritten > 0)
  client.socket.resetAndDestroy()
  await until(() => gone.length === 3)
  expect(gone.toSorted()).toEqual(['connection', 'request', 'response'])
})

async function aServer(isWire = true) {
  const waiting: HttpResponse[] = []
  const handler: ExchangeHandler = (_, response) => void waiting.push(response)
  const listen = { host: '127.0.0.1', port: 0 }
  const fixed = { listen, purpose: 'a test', flag: '--none', log: silentLogger }
  const server = await startHttpServer({ ...fixed, handler, ...(isWire && { wire: { prefix: '/', handler } }) })
  onTestFinished(() => server.dispose(0))
  const url = `http://127.0.0.1:${server.address.port}`
  return { server, waiting, busy: await rawClient(url), idle: await rawClient(url) }
}

describe.each([true, false])('at the end, by the wire: %s', (isWire) => {
  test('a client that has just connected, or had an answer before, may still ask, and is told that nothing follows', async () => {
    const { server, waiting, busy: known, idle: newcomer } = await aServer(isWire)
    known.send(PLAIN)
    await until(() => waiting.length === 1)
    waiting.pop()!.end('<before>')
    await known.reads('<before>')
    const disposed = server.dispose(60_000)
    known.send(PLAIN)
    newcomer.send(PLAIN)
    await until(() => waiting.length === 2)
    for (const response of waiting) response.end('<done>')
    for (const client of [known, newcomer]) expect(await client.closes()).toMatch(/connection: close[\s\S]*<done>/i)
    await disposed
  })

  test('a connection that the system has made and nobody has taken yet is not reset', async () => {
    const { server, waiting } = await aServer(isWire)
    const connecting = rawClient(`http://127.0.0.1:${server.address.port}`)
    // Now the system has been asked for it, and our loop has not come round to take it.
    await new Promise<void>((resolve) => process.nextTick(resolve))
    const disposed = server.dispose(60_000)
    const client = await connecting
    client.send(PLAIN)
    await until(() => waiting.length === 1)
    waiting[0]!.end('<done>')
    expect(await client.closes()).toContain('<done>')
    await disposed
  })

  test('idle connections are closed soon, running requests finish and are told that nothing follows', async () => {
    const { server, waiting, busy, idle } = await aServer(isWire)
    idle.send(PLAIN)
    await until(() => waiting.length === 1)
    waiting.pop()!.end('<before>')
    await idle.reads('<before>')
    busy.send(PLAIN)
    await until(() => waiting.length === 1)
    const disposed = server.dispose(60_000)
    await idle.closes()
    waiting[0]!.end('<done>')
    expect(await busy.closes()).toMatch(/connection: close[\s\S]*<done>/i)
    await disposed
  })

  test('a client that was promised keep-alive by an answer that ends during the close may still ask', async () => {
    const { server, waiting, busy, idle } = await aServer(isWire)
    busy.send(PLAIN)
    await until(() => waiting.length === 1)
    waiting[0]!.write('<begins>')
    expect(await busy.reads('<begins>')).toMatch(/connection: keep-alive/i)
    const disposed = server.dispose(60_000)
    await idle.closes()
    waiting[0]!.end('<ends>')
    await busy.reads('<ends>')
    busy.send(PLAIN)
    await until(() => waiting.length === 2)
    waiting[1]!.end('<next>')
    expect(await busy.closes()).toMatch(/<ends>[\s\S]*connection: close[\s\S]*<next>/i)
    await disposed
  })

  test('a request whose rest comes later than others are closed is answered', async () => {
    const { server, waiting, busy, idle } = await aServer(isWire)
    busy.send(PLAIN.slice(0, 30))
    await until(() => busy.socket.bytesWritten > 0)
    const disposed = server.dispose(60_000)
    await idle.closes()
    busy.send(PLAIN.slice(30))
    await until(() => waiting.length === 1)
    waiting[0]!.end('<done>')
    expect(await busy.closes()).toMatch(/connection: close[\s\S]*<done>/i)
    await disposed
  })

  test('what does not finish in time is cut', async () => {
    const { server, waiting, busy } = await aServer(isWire)
    busy.send(PLAIN)
    await until(() => waiting.length === 1)
    await server.dispose(20)
    expect(await busy.closes()).toBe('')
  })
})

test('at the end an unusual request that was waiting for an answer before it is served, too', async () => {
  const { server, waiting, busy } = await aServer()
  busy.send(`${PLAIN}PUT /v1/x HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi`)
  await until(() => waiting.length === 1)
  const disposed = server.dispose(60_000)
  waiting[0]!.end('<first>')
  await until(() => waiting.length === 2)
  waiting[1]!.end('<second>')
  expect(await busy.closes()).toMatch(/<first>[\s\S]*<second>/)
  await disposed
})

test('a connection that nobody uses is closed after a while', async () => {
  const limits = { ...defaultHttpLimits, headMs: 80 }
  const wire = openWire({ prefix: '/', limits, keepAliveMs: 200, serve: (_, response) => void response.end('<ok>') })
  const server = createServer((socket: Socket) => wire.take(socket, () => {})).listen(0, '127.0.0.1')
  onTestFinished(() => {
    wire.destroy()
    server.close()
  })
  await until(() => server.listening)
  const client = await rawClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  await client.reads('<ok>')
  expect(await client.closes()).not.toContain('408')
})
