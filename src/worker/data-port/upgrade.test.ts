import { describe, expect, test } from 'vitest'
import { MODEL_HEADER, REFUSAL_HEADER, replicaPath } from '../../api/data-port.ts'
import { aDataPort, engineThatSays, gatewayHeaders, rawEngine } from '../../../test/support/worker/data-port.ts'
import { rawClient } from '../../../test/support/http/raw-client.ts'
import { until } from '../../../test/support/until.ts'
import { handshake, message, webSocketEngine } from '../../../test/support/http/web-socket-engine.ts'

const path = `${replicaPath('r', 7)}/v1/realtime?model=m&a=1`

describe('a WebSocket', () => {
  test('is between the gateway and the engine, and counts for as long as it is open', async () => {
    const engine = await webSocketEngine()
    const { url, replica } = await aDataPort(engine.port)
    const client = await rawClient(url)
    client.send(handshake(path, { ...gatewayHeaders, 'openai-beta': '1', cookie: 'a=b' }))
    const answer = await client.reads('\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/)
    expect(answer).toMatch(/X-Engine: yes\r\n/)
    expect(answer).toMatch(/Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\n/)
    client.send(message('hello'))
    await client.reads('hello')
    expect(replica.inFlight).toBe(1)
    const [request] = engine.requests
    expect(request).toMatchObject({ url: '/v1/realtime?model=m&a=1', headers: { 'openai-beta': '1' } })
    expect(request!.headers.cookie).toBeUndefined()
    expect(request!.headers.authorization).toBeUndefined()
    client.socket.destroy()
    await until(() => replica.inFlight === 0 && engine.sockets.size === 0)
    expect([replica.begun, replica.ended]).toEqual([1, 1])
  })

  test('whose client speaks before it was agreed to is heard afterwards', async () => {
    const { url } = await aDataPort((await webSocketEngine()).port)
    const client = await rawClient(url)
    client.send(Buffer.concat([Buffer.from(handshake(path, gatewayHeaders)), message('early')]))
    client.send(message('bird'))
    expect(await client.reads('bird')).toContain('early')
  })

  test.each(['ends', 'breaks off'])('ends for the client when the engine %s', async (how) => {
    const engine = await webSocketEngine()
    const { url, replica } = await aDataPort(engine.port)
    const client = await rawClient(url)
    client.send(handshake(path, gatewayHeaders))
    await client.reads('\r\n\r\n')
    for (const socket of engine.sockets) {
      if (how === 'ends') socket.end('the last word')
      else socket.resetAndDestroy()
    }
    const text = await client.closes()
    if (how === 'ends') expect(text).toMatch(/the last word$/)
    client.endSending()
    await until(() => replica.inFlight === 0)
    expect(replica.ended).toBe(1)
  })

  test('ends for the engine when the client says that it ends, after what was said', async () => {
    const engine = await webSocketEngine()
    const { url, replica } = await aDataPort(engine.port)
    const client = await rawClient(url)
    client.send(handshake(path, gatewayHeaders))
    await client.reads('\r\n\r\n')
    client.send(message('the last word'))
    client.endSending()
    expect(await client.closes()).toContain('the last word')
    await until(() => replica.inFlight === 0 && engine.sockets.size === 0)
  })

  test('names the model as the engine knows it', async () => {
    const engine = await webSocketEngine()
    const { url, replica } = await aDataPort(engine.port)
    replica.requestModel = '/models/m.gguf'
    const client = await rawClient(url)
    client.send(handshake(path, gatewayHeaders))
    await client.reads('101')
    expect(engine.requests[0]!.url).toBe('/v1/realtime?model=%2Fmodels%2Fm.gguf&a=1')
  })
})

describe('no WebSocket', () => {
  test('with an engine that declines: its answer is the answer', async () => {
    const port = await engineThatSays(
      'HTTP/1.1 426 Upgrade Required\r\nX-Engine: yes\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n',
    )
    const { url, replica } = await aDataPort(port)
    const client = await rawClient(url)
    client.send(handshake(path, gatewayHeaders))
    const text = await client.closes()
    expect(text).toMatch(/^HTTP\/1\.1 426 Upgrade Required\r\n/)
    expect(text).toMatch(/X-Engine: yes\r\nconnection: close\r\n\r\nno$/)
    client.endSending()
    await until(() => replica.inFlight === 0)
  })

  test.each<[string, string, Record<string, string>, number, string]>([
    ['without the key', path, { authorization: '' }, 401, 'needs the data key'],
    ['with a replica that is not here', `${replicaPath('other', 7)}/v1/x`, {}, 404, 'no replica other'],
    ['with another model', path, { [MODEL_HEADER]: 'other' }, 409, 'serves the model'],
  ])('%s: refused on the connection', async (_, target, headers, status, text) => {
    const { url, replica } = await aDataPort((await webSocketEngine()).port)
    const client = await rawClient(url)
    client.send(handshake(target, { ...gatewayHeaders, ...headers }))
    const answer = await client.closes()
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(answer).toContain(`${REFUSAL_HEADER}: 1`)
    expect(answer).toContain(text)
    expect(replica.begun).toBe(0)
  })

  test.each<[string, number, () => Promise<number>]>([
    ['is not there', 503, () => Promise.resolve(1)],
    ['hangs up', 502, () => rawEngine((socket) => socket.destroy())],
    ['speaks something else', 502, () => engineThatSays('SSH-2.0-OpenSSH\r\n')],
  ])('with an engine that %s: %i, and another replica may be asked', async (_, status, engine) => {
    const { url, replica } = await aDataPort(await engine())
    const client = await rawClient(url)
    client.send(handshake(path, gatewayHeaders))
    const answer = await client.closes()
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(answer).toContain(`${REFUSAL_HEADER}: 1`)
    expect([replica.inFlight, replica.ended]).toEqual([0, 1])
  })

  test.each(['ends', 'breaks off'])('any more when the client %s before the engine has agreed', async (how) => {
    let isOpen = false
    const port = await rawEngine((socket) => {
      isOpen = true
      socket.resume().once('close', () => (isOpen = false))
    })
    const { url, replica } = await aDataPort(port)
    const client = await rawClient(url)
    client.send(handshake(path, gatewayHeaders))
    await until(() => isOpen)
    if (how === 'ends') client.endSending()
    else client.socket.destroy()
    await until(() => !isOpen && replica.inFlight === 0)
    expect(replica.ended).toBe(1)
  })

  test('but plain HTTP for those who would like another protocol', async () => {
    const { url } = await aDataPort((request, response) => void response.end(`upgrade: ${request.headers.upgrade}`))
    const client = await rawClient(url)
    client.send(handshake(path, { ...gatewayHeaders, upgrade: 'h2c', connection: 'Upgrade, HTTP2-Settings' }))
    expect(await client.reads('upgrade: undefined')).toContain('200 OK')
  })
})
