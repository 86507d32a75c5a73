import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { rawEngine } from '../../test/support/worker/data-port.ts'
import { forwarded } from '../../test/support/http/forwarded.ts'
import { serve } from '../../test/support/http/http.ts'
import { rawClient } from '../../test/support/http/raw-client.ts'
import { until } from '../../test/support/until.ts'
import type { ExchangeHandler } from './exchange.ts'
import type { Handler } from './server.ts'
import { ConnectionPool } from './upstream/connection-pool.ts'
import { request as httpRequest } from './server/node-http.ts'
import { instead } from './upstream/forward-headers.ts'
import type { Forwarded, Upstream } from './proxy.ts'

/** A proxy in front of `upstream`; tells what became of each request. */
async function proxyTo(upstream: Handler, options: Partial<Upstream> = {}) {
  const target = new URL(await serve(upstream))
  const results: Promise<Forwarded>[] = []
  const url = await serve(async (request, response) => {
    const to = {
      host: target.hostname,
      port: Number(target.port),
      path: request.url!,
      headers: instead({}),
      ...options,
    }
    const result = forwarded(request, response, to)
    results.push(result)
    await result
    if (!response.headersSent) response.writeHead(599).end()
  })
  return { url, results }
}

async function textOf(stream: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of stream) text += String(chunk)
  return text
}

test('method, path, body and unknown headers go through; hop-by-hop headers do not', async () => {
  const { url } = await proxyTo(async (request, response) => {
    const { method, url: path, headers } = request
    response.writeHead(201, { 'x-answer': 'yes', connection: 'keep-alive, x-hop', 'x-hop': '1' })
    response.end(
      JSON.stringify({ method, path, body: await textOf(request), extra: headers['x-extra'], te: headers['te'] }),
    )
  })
  const response = await fetch(`${url}/a?b=c`, { method: 'PUT', body: 'hello', headers: { 'x-extra': '1' } })
  expect(response.status).toBe(201)
  expect(response.headers.get('x-answer')).toBe('yes')
  expect(response.headers.get('x-hop')).toBeNull()
  expect(await response.json()).toEqual({ method: 'PUT', path: '/a?b=c', body: 'hello', extra: '1' })
})

test('headers of the upstream replace the client’s, and undefined takes one away', async () => {
  const { url } = await proxyTo((request, response) => void response.end(JSON.stringify(request.headers)), {
    headers: instead({ authorization: 'Bearer ours', 'x-private': undefined }),
  })
  const response = await fetch(url, { headers: { authorization: 'Bearer theirs', 'x-private': '1' } })
  const headers = (await response.json()) as Record<string, string>
  expect(headers['authorization']).toBe('Bearer ours')
  expect(headers).not.toHaveProperty('x-private')
})

test('a stream arrives piece by piece, not at its end', async () => {
  let more = (): void => {}
  const { url } = await proxyTo((_, response) => {
    response.write('one')
    more = () => response.end('two')
  })
  const reader = (await fetch(url)).body!.getReader()
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('one')
  more()
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('two')
})

test('when the client goes away, the upstream request is cancelled', async () => {
  let upstream: ServerResponse | undefined
  const arrived = Promise.withResolvers<void>()
  const { url, results } = await proxyTo((_, response) => {
    upstream = response
    response.write('one')
    arrived.resolve()
  })
  const leave = new AbortController()
  const response = await fetch(url, { signal: leave.signal })
  await arrived.promise
  expect(response.status).toBe(200)
  const closed = once(upstream!, 'close')
  leave.abort()
  await closed
  expect(await results[0]).toEqual({ outcome: 'client gone' })
})

test('nobody there: nothing reaches the client, so another may be tried', async () => {
  const { url, results } = await proxyTo(() => {}, { port: 1 })
  expect((await fetch(url)).status).toBe(599)
  expect(await results[0]).toMatchObject({ outcome: 'unreachable' })
})

test('a refusal does not reach the client, so another may be tried', async () => {
  const { url, results } = await proxyTo(
    (_, response) => void response.writeHead(404, { 'x-refusal': '1' }).end('no'),
    {
      isRefusal: (answer) => 'x-refusal' in answer.headers,
    },
  )
  expect((await fetch(url)).status).toBe(599)
  expect(await results[0]).toEqual({ outcome: 'refused', status: 404 })
})

test('headers of ours replace those of the answer', async () => {
  const answerHeaders = instead({ 'x-request-id': 'ours', 'x-private': undefined })
  const { url } = await proxyTo(
    (_, response) => void response.writeHead(200, { 'X-Request-Id': 'theirs', 'x-private': '1', 'x-other': '1' }).end(),
    { answerHeaders },
  )
  const { headers } = await fetch(url)
  expect([headers.get('x-request-id'), headers.get('x-private'), headers.get('x-other')]).toEqual(['ours', null, '1'])
})

test('an event stream that breaks off ends with words that say so', async () => {
  const { url, results } = await proxyTo(
    (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: 1\n\n', () => response.destroy())
    },
    { lastWords: () => 'data: {"error":"broken"}\n\n' },
  )
  expect(await (await fetch(url)).text()).toBe('data: 1\n\ndata: {"error":"broken"}\n\n')
  expect(await results[0]).toMatchObject({ outcome: 'broken' })
})

test('an event that broke off halfway does not swallow the words after it', async () => {
  const { url } = await proxyTo(
    (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {"ha', () => response.destroy())
    },
    { lastWords: () => 'data: {"error":"broken"}\n\n' },
  )
  expect(await (await fetch(url)).text()).toBe('data: {"ha\n\ndata: {"error":"broken"}\n\n')
})

test.each([
  ['is compressed', { 'content-encoding': 'gzip' }],
  ['has told its length', { 'content-length': '1000' }],
])('an event stream that %s takes no words of ours: it is cut', async (_, headers) => {
  const { url } = await proxyTo(
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', ...headers })
      response.write('data: 1\n\n', () => response.destroy())
    },
    { lastWords: () => 'data: {"error":"broken"}\n\n' },
  )
  const answer = await new Promise<IncomingMessage>((resolve) => httpRequest(url, resolve).end())
  await expect(textOf(answer)).rejects.toThrow('aborted')
})

test('any other answer that breaks off is cut, so that nobody takes a part for the whole', async () => {
  const { url } = await proxyTo((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write('{"half":', () => response.destroy())
  })
  await expect(fetch(url).then((response) => response.text())).rejects.toThrow('terminated')
})

test('a client that has gone before is not asked for', async () => {
  let asked = 0
  const target = new URL(await serve(() => void (asked += 1)))
  const { promise: result, resolve } = Promise.withResolvers<Forwarded>()
  const url = await serve(async (request, response) => {
    const closed = new Promise((resolve) => request.socket.once('close', resolve))
    leave.abort()
    await closed
    const to = { host: target.hostname, port: Number(target.port), path: '/', headers: instead({}) }
    resolve(await forwarded(request, response, to, Buffer.alloc(0)))
  })
  const leave = new AbortController()
  await expect(fetch(url, { signal: leave.signal })).rejects.toThrow('aborted')
  expect(await result).toEqual({ outcome: 'client gone' })
  expect(asked).toBe(0)
})

test('a request answered before its end may go on for a while, and is then cut', async () => {
  const { url, results } = await proxyTo((_, response) => void response.end('enough'))
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const headers = { 'content-length': 1000, connection: 'keep-alive' }
  const outgoing = httpRequest(url, { method: 'POST', headers, agent: false })
  outgoing.write('never whole')
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
  expect(await textOf(answer)).toBe('enough')
  expect(await results[0]).toEqual({ outcome: 'answered', status: 200 })
  expect(outgoing.socket?.destroyed).toBe(false)
  const cut = once(outgoing.socket!, 'close')
  vi.advanceTimersByTime(5000)
  await cut
})

test('with a pool, connections are kept for the next request', async () => {
  const pool = new ConnectionPool()
  onTestFinished(() => pool.destroy())
  const ports = new Set<number>()
  const { url } = await proxyTo(
    (request, response) => {
      ports.add(request.socket.remotePort!)
      response.end('yes')
    },
    { pool },
  )
  for (let i = 0; i < 5; i += 1) expect(await (await fetch(url)).text()).toBe('yes')
  expect(ports.size).toBe(1)
})

test('a kept connection that ends as it is used again is no failure: a new one is taken', async () => {
  const pool = new ConnectionPool()
  onTestFinished(() => pool.destroy())
  const asked = new Map<number, number>()
  const target = new URL(
    await serve(({ socket }, response) => {
      const times = (asked.get(socket.remotePort!) ?? 0) + 1
      asked.set(socket.remotePort!, times)
      if (times === 1) response.end('yes')
      else socket.destroy()
    }),
  )
  const url = await serve(async (request, response) => {
    const to = { host: target.hostname, port: Number(target.port), path: '/', headers: instead({}), pool }
    await forwarded(request, response, to, Buffer.from('body'))
  })
  const post = async () => (await fetch(url, { method: 'POST', body: 'body' })).text()
  expect([await post(), await post()]).toEqual(['yes', 'yes'])
  expect([...asked.values()]).toEqual([2, 1])
})

test('a client that goes away with its answer in hand takes nobody else’s connection with it', async () => {
  const pool = new ConnectionPool()
  onTestFinished(() => pool.destroy())
  const held = new Map<string, ServerResponse>()
  const ports: number[] = []
  const target = new URL(
    await serve((request, response) => {
      ports.push(request.socket.remotePort!)
      if (request.url === '/now') response.end('yes')
      else held.set(request.url!, response)
    }),
  )
  const handler: ExchangeHandler = async (request, response) => {
    await forwarded(request, response, {
      host: target.hostname,
      port: Number(target.port),
      path: request.url!,
      headers: instead({}),
      pool,
    })
  }
  const url = await serve(handler, { wire: { prefix: '/', handler } })
  const client = await rawClient(url)
  // The second answer is there and waits for the first, when its connection is used again.
  client.send(['/first', '/now'].map((path) => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`).join(''))
  await until(() => held.has('/first') && ports.length === 2)
  let other: Promise<Response> | undefined
  await until(async () => {
    other ??= fetch(`${url}/other`)
    return held.has('/other')
  })
  expect(ports[2]).toBe(ports[1])
  client.socket.destroy()
  await until(() => held.get('/first')!.destroyed)
  held.get('/other')!.end('here')
  expect(await (await other!).text()).toBe('here')
})

test('what ends a stream goes with the last piece of it, in one write', async () => {
  const end = '5\r\nlast!\r\n0\r\n\r\n'
  let goOn = (): void => {}
  const port = await rawEngine((socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
      goOn = () => void socket.write(end)
    })
  })
  const handler: ExchangeHandler = async (request, response) => {
    await forwarded(request, response, { host: '127.0.0.1', port, path: '/', headers: instead({}) })
  }
  const client = await rawClient(await serve(handler, { wire: { prefix: '/', handler } }))
  client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  await client.reads('\r\n\r\n')
  const write = vi.spyOn(Socket.prototype, 'write')
  onTestFinished(() => write.mockRestore())
  goOn()
  await client.reads(end)
  // The engine's and ours.
  expect(write.mock.calls.map(([text]) => text)).toEqual([end, end])
})

test('a client that does not keep up with many small pieces gets them all', async () => {
  const piece = 'x'.repeat(100)
  const warnings: Error[] = []
  const onWarning = (warning: Error): void => void warnings.push(warning)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  const { url } = await proxyTo(async (_, response) => {
    for (let i = 0; i < 100_000; i += 1) if (!response.write(piece)) await once(response, 'drain')
    response.end()
  })
  const client = await rawClient(url)
  client.socket.pause()
  client.send('GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
  setTimeout(() => client.socket.resume(), 100)
  expect((await client.closes()).split('x').length - 1).toBe(10_000_000)
  // Such as that it is waited for in many places at once.
  expect(warnings).toEqual([])
})
