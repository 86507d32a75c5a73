import { describe, expect, test } from 'vitest'
import { REFUSAL_HEADER, replicaPath } from '../../api/data-port.ts'
import { readBody } from '../../http/server.ts'
import { until } from '../../../test/support/until.ts'
import { aDataPort, askRaw, engineThatSays, gatewayHeaders, rawEngine } from '../../../test/support/worker/data-port.ts'

const path = `${replicaPath('r', 7)}/v1/x`

describe('a request', () => {
  test('reaches the engine as it is, without what was for the worker or for the connection', async () => {
    let raw: string[] = []
    const { url } = await aDataPort(async (request, response) => {
      raw = request.rawHeaders
      response.end(`${request.method} ${request.url} ${(await readBody(request, 100)).toString()}`)
    })
    const ours = {
      ...gatewayHeaders,
      'OpenAI-Beta': ['1', '2'],
      connection: 'close, tracestate',
      tracestate: '1',
      te: 'trailers',
    }
    const headers = { ...ours, 'content-length': '5', constructor: 'yes', cookie: 'a=b' }
    const answer = await askRaw(`${url}${path}?a=%20b`, { method: 'PUT', headers }, (outgoing) => outgoing.end('hello'))
    expect(answer.text).toBe('PUT /v1/x?a=%20b hello')
    const rest = raw
      .flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${raw[i + 1]}`] : []))
      .filter((line) => !line.startsWith('host'))
    expect(rest).toEqual(['OpenAI-Beta: 1', 'OpenAI-Beta: 2', 'content-length: 5', 'connection: keep-alive'])
  })

  test('streams upwards piece by piece', async () => {
    const seen: string[] = []
    const { url } = await aDataPort((request, response) => {
      request.on('data', (chunk: Buffer) => void seen.push(chunk.toString()))
      request.once('end', () => response.end('thanks'))
    })
    const headers = { ...gatewayHeaders, 'transfer-encoding': 'chunked' }
    const answer = await askRaw(url + path, { method: 'POST', headers }, (outgoing) => {
      outgoing.write('one')
      void until(() => seen.length === 1).then(() => outgoing.end('two'))
    })
    expect([answer.text, seen]).toEqual(['thanks', ['one', 'two']])
  })

  test.each(['POST', 'GET', 'DELETE'])('%s without a body has none at the engine either', async (method) => {
    const { ask } = await aDataPort(async (request, response) => {
      const { 'content-length': length, 'transfer-encoding': coding } = request.headers
      response.end(JSON.stringify({ bytes: (await readBody(request, 10)).length, length: length ?? '0', coding }))
    })
    expect(await (await ask('/v1/x', { method })).json()).toEqual({ bytes: 0, length: '0' })
  })

  test('that waits for "100 Continue" gets it, and the engine is not asked for another', async () => {
    const { url } = await aDataPort(async (request, response) => {
      response.end(`${request.headers.expect} ${(await readBody(request, 10)).toString()}`)
    })
    const headers = { ...gatewayHeaders, expect: '100-continue', 'content-length': '5' }
    const answer = await askRaw(url + path, { method: 'POST', headers }, (outgoing) => {
      outgoing.once('continue', () => outgoing.end('hello'))
      outgoing.flushHeaders()
    })
    expect(answer.text).toBe('undefined hello')
  })
})

describe('an answer', () => {
  test('comes piece by piece, its head before the first of them, and counts until its end', async () => {
    let write: (text: string) => void = () => {}
    let end = (): void => {}
    const { ask, replica } = await aDataPort((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      write = (text) => void response.write(text)
      end = () => void response.end()
    })
    const response = await ask()
    expect(replica.inFlight).toBe(1)
    const reader = response.body!.getReader()
    for (const text of ['data: 1\n\n', 'data: 2\n\n']) {
      write(text)
      expect(new TextDecoder().decode((await reader.read()).value)).toBe(text)
    }
    expect(replica.inFlight).toBe(1)
    end()
    expect((await reader.read()).done).toBe(true)
    await until(() => replica.inFlight === 0)
    expect(replica.ended).toBe(1)
  })

  test('keeps its status, its reason and its headers, several of a name and all', async () => {
    const { url } = await aDataPort(
      await engineThatSays(
        'HTTP/1.1 299 Just So\r\nSet-Cookie: a\r\nX-Odd: 1\r\nSet-Cookie: b\r\nX-Odd: 2\r\nKeep-Alive: timeout=9\r\nContent-Length: 2\r\n\r\nok',
      ),
    )
    const { status, rawHeaders, text } = await askRaw(url + path, { headers: gatewayHeaders })
    expect([status, text]).toEqual([299, 'ok'])
    expect(rawHeaders.slice(0, 10)).toEqual('Set-Cookie a X-Odd 1 Set-Cookie b X-Odd 2 Content-Length 2'.split(' '))
    expect(rawHeaders).not.toContain('timeout=9')
  })

  test.each([
    ['to HEAD', 'HEAD', 200, { 'content-length': '42' }],
    ['204', 'POST', 204, {}],
    ['304', 'GET', 304, { etag: '"a"' }],
  ])('%s has no body, and the next request on the connection is answered', async (_, method, status, headers) => {
    const { ask, replica } = await aDataPort((_request, response) => void response.writeHead(status, headers).end())
    for (let i = 0; i < 2; i += 1) {
      const response = await ask('/v1/x', { method })
      expect([response.status, await response.text()]).toEqual([status, ''])
      for (const [name, value] of Object.entries(headers)) expect(response.headers.get(name)).toBe(value)
    }
    await until(() => replica.inFlight === 0)
  })

  test('that ends with its connection is whole', async () => {
    const port = await engineThatSays('HTTP/1.0 200 OK\r\n\r\nold and whole', (socket) => socket.end())
    const { ask } = await aDataPort(port)
    expect(await (await ask()).text()).toBe('old and whole')
  })

  test('after "100 Continue" and early hints is the one that counts', async () => {
    const port = await engineThatSays(
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
    )
    const { ask } = await aDataPort(port)
    const response = await ask()
    expect([response.status, await response.text()]).toEqual([200, 'ok'])
  })

  test('that is larger than all buffers arrives whole at a slow reader', async () => {
    const bytes = 24 * 1024 * 1024
    const { ask } = await aDataPort((_, response) => void response.end(Buffer.alloc(bytes, 'x')))
    const reader = (await ask()).body!.getReader()
    let seen = 0
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      seen += part.value.length
      if (seen % 7 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    }
    expect(seen).toBe(bytes)
  })

  test('that drips byte by byte drips through', async () => {
    const text = 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndrip'
    const port = await rawEngine((socket) =>
      socket.once('data', () => {
        let at = 0
        const drip = setInterval(() => {
          socket.write(text[at]!)
          at += 1
          if (at === text.length) clearInterval(drip)
        }, 1)
      }),
    )
    const { ask } = await aDataPort(port)
    expect(await (await ask()).text()).toBe('drip')
  })

  test('given before the request was read whole is given on, and the engine is let go', async () => {
    let engineClosed = false
    const port = await rawEngine((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig')
      })
      socket.once('close', () => (engineClosed = true))
    })
    const { url, replica } = await aDataPort(port)
    const headers = { ...gatewayHeaders, 'content-length': '30000000' }
    const answer = await askRaw(url + path, { method: 'POST', headers }, (outgoing) => void outgoing.write('some'))
    expect([answer.status, answer.text]).toEqual([413, 'big'])
    await until(() => replica.inFlight === 0 && engineClosed)
  })
})

test('an engine that closes connections which it has promised to keep fails none of 200 streams', async () => {
  const port = await rawEngine((socket) =>
    socket.on('data', () => {
      const head =
        'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: Keep-Alive\r\nKeep-Alive: timeout=5\r\n'
      socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n0\r\n\r\n`, () => socket.destroy())
    }),
  )
  const { ask, replica } = await aDataPort(port)
  for (let i = 0; i < 200; i += 1) {
    const response = await ask('/v1/x', { method: 'POST', body: '{}' })
    expect([response.status, await response.text()]).toEqual([200, 'data: 1\n\n'])
  }
  await until(() => replica.inFlight === 0)
  expect(replica.ended).toBe(200)
})

describe('an engine without an answer', () => {
  test.each<[string, () => Promise<number>]>([
    ['hangs up at once', () => rawEngine((socket) => socket.destroy())],
    ['dies before the first byte', () => engineThatSays('', (socket) => socket.destroy())],
    ['dies in the middle of the head', () => engineThatSays('HTTP/1.1 200 O', (socket) => socket.destroy())],
    ['speaks something else', () => engineThatSays('SSH-2.0-OpenSSH\r\n')],
    ['answers with a status that is none', () => engineThatSays('HTTP/1.1 001 No\r\ncontent-length: 0\r\n\r\n')],
    ['switches protocols', () => engineThatSays('HTTP/1.1 101 Go\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')],
    ['has too much to say about itself', () => engineThatSays(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`)],
  ])('that %s: 502, and another replica may be asked', async (_, engine) => {
    const { ask, replica } = await aDataPort(await engine())
    const response = await ask('/v1/x', { method: 'POST', body: '{}' })
    expect([response.status, response.headers.has(REFUSAL_HEADER)]).toEqual([502, true])
    expect(await response.text()).toContain('The engine of m#0 did not answer: ')
    expect([replica.begun, replica.ended, replica.inFlight]).toEqual([1, 1, 0])
  })
})

test('an engine that is not there never had the request, which the status tells', async () => {
  const { ask, replica } = await aDataPort(1)
  const response = await ask('/v1/x', { method: 'POST', body: '{}' })
  expect([response.status, response.headers.has(REFUSAL_HEADER)]).toEqual([503, true])
  expect(await response.text()).toContain('The engine of m#0 did not answer: ')
  expect([replica.begun, replica.ended, replica.inFlight]).toEqual([1, 1, 0])
})

describe('an engine that dies in the middle of its answer', () => {
  test.each([
    ['of a known length', 'content-length: 100\r\n\r\nhalf'],
    ['in chunks', 'transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n'],
    [
      'that is an event stream',
      'content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n',
    ],
    ['of nothing but a head', 'content-length: 100\r\n\r\n'],
  ])('%s breaks the client’s connection', async (_, rest) => {
    const port = await engineThatSays(`HTTP/1.1 200 OK\r\n${rest}`, (socket) => socket.destroy())
    const { url, replica } = await aDataPort(port)
    await expect(askRaw(url + path, { headers: gatewayHeaders })).rejects.toThrow(/aborted|hang up|reset/i)
    await until(() => replica.inFlight === 0)
    expect(replica.ended).toBe(1)
  })
})
