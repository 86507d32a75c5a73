import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { newSeed } from '../../bus/nkey.ts'
import { clusterCa, issuePair } from '../../control/joining/cluster-ca.ts'
import { ConnectionPool, type PooledAddress } from '../../http/upstream/connection-pool.ts'
import type { ExchangeHandler } from '../../http/exchange.ts'
import { startHttpServer, type HttpServerOptions } from '../../http/server.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { instead } from '../../http/upstream/forward-headers.ts'
import { forward } from '../../http/proxy.ts'
import { ClientTls, type UpstreamTls } from '../../platform/tls/client-tls.ts'
import type { CallEvents } from '../../http/upstream/upstream-connection.ts'
import { aDataPort } from '../../../test/support/worker/data-port.ts'
import { serve } from '../../../test/support/http/http.ts'
import { rawClient } from '../../../test/support/http/raw-client.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'
import { dataPortCables } from './handler.ts'
import { DataTls } from './data-tls.ts'

const LINES = 'host: a\r\nauthorization: Bearer right\r\n'
const REQUEST = `GET /replicas/r/7/v1/x HTTP/1.1\r\n${LINES}\r\n`

/** What a gateway asks with. */
function aPool(url: string, cableLines: string | undefined = LINES, tls?: UpstreamTls) {
  const pool = new ConnectionPool()
  onTestFinished(() => pool.destroy())
  const { hostname: host, port } = new URL(url)
  const at: PooledAddress = { host, port: Number(port), cableLines }
  const ask = (): Promise<{ text: string; isStrand: boolean }> =>
    new Promise((resolve, reject) => {
      let text = ''
      const events: CallEvents = {
        onHead() {},
        onBody: (piece) => void (text += piece.toString()),
        onEnd: () => resolve({ text, isStrand: connection.isStrand }),
        onPause() {},
        onDrain() {},
        onFailed: reject,
      }
      const connection = pool.take(at, tls)
      connection.begin('GET', REQUEST, undefined, events)
    })
  /** It takes two requests at once to have one laid. */
  const isLaid = () => until(async () => (await Promise.all([ask(), ask()]))[1].isStrand)
  return { pool, at, ask, isLaid }
}

/** A server with a data port's key, which remembers the connections that were made to it. */
async function aServer(handler: ExchangeHandler, options: Partial<HttpServerOptions> = {}) {
  const server = await startHttpServer({
    listen: { host: '127.0.0.1', port: 0 },
    purpose: 'a test',
    flag: '--none',
    handler,
    wire: { prefix: '/', handler },
    allowCable: dataPortCables({ dataKey: () => 'right' }),
    log: silentLogger,
    ...options,
  })
  onTestFinished(() => server.dispose(0))
  return { server, url: `http://127.0.0.1:${server.address.port}` }
}

test('requests to a data port become strands of one connection, and are all served there', async () => {
  const { url, replica } = await aDataPort((request, response) => void response.end(`<${request.url}>`))
  const { ask, isLaid } = aPool(url)
  await isLaid()
  const answers = await Promise.all(Array.from({ length: 50 }, ask))
  expect(answers).toEqual(Array.from({ length: 50 }, () => ({ text: '</v1/x>', isStrand: true })))
  expect(replica.inFlight).toBe(0)
  expect(replica.begun).toBe(replica.ended)
})

test.each([
  ['nobody has given us a key', 'host: a\r\n', 401],
  ['the key is another', 'host: a\r\nauthorization: Bearer wrong\r\n', 401],
])('there is no cable when %s, and requests are served without', async (_, lines, status) => {
  const { url } = await aDataPort((_request, response) => void response.end('ok'))
  const { ask } = aPool(url, lines)
  for (let i = 0; i < 5; i += 1) {
    for (const answer of await Promise.all([ask(), ask()])) expect(answer).toEqual({ text: 'ok', isStrand: false })
  }
  const client = await rawClient(url)
  client.send(`GET /cable HTTP/1.1\r\n${lines}connection: Upgrade\r\nupgrade: flotilla-cable-1\r\n\r\n`)
  expect(await client.closes()).toContain(`HTTP/1.1 ${status} `)
})

test('who asks for one thing at a time has no cable, and one connection', async () => {
  const { url } = await aDataPort((_request, response) => void response.end('ok'))
  const { ask } = aPool(url)
  for (let i = 0; i < 10; i += 1) expect(await ask()).toEqual({ text: 'ok', isStrand: false })
})

test('a server that knows nothing of cables is asked for one once, and serves requests without', async () => {
  const asked: string[] = []
  const handler: ExchangeHandler = ({ url }, response) => {
    asked.push(url!)
    response.end('ok')
  }
  const { ask } = aPool(await serve(handler))
  await Promise.all([ask(), ask(), ask()])
  await until(() => asked.includes('/cable'))
  for (let i = 0; i < 3; i += 1) expect((await Promise.all([ask(), ask(), ask(), ask()]))[3].isStrand).toBe(false)
  expect(asked.filter((url) => url === '/cable')).toHaveLength(1)
})

test('an encrypted data port has encrypted cables', async () => {
  const ca = clusterCa('flc_secret')
  const tls = new DataTls(newSeed(), 'on', join(tempFolder(), 'data.ca'))
  tls.use(ca.certificate)
  const handler: ExchangeHandler = (_, response) => void response.end('x'.repeat(300_000))
  const upgrade = { upgrade: () => tls.upgrade, mayBePlain: () => false }
  const { url } = await aServer(handler, { tls: upgrade })
  const client = new ClientTls()
  client.show(issuePair(ca, 'client', 'flotilla gateway', Date.now()))
  const { ask, isLaid } = aPool(url, LINES, { client, fingerprint: tls.fingerprint })
  await isLaid()
  for (const { text, isStrand } of await Promise.all(Array.from({ length: 20 }, ask))) {
    expect({ length: text.length, isStrand }).toEqual({ length: 300_000, isStrand: true })
  }
})

test('a server that closes answers what was asked, begins nothing new there, and is gone with the last answer', async () => {
  const running: (() => void)[] = []
  let isSlow = false
  const { server, url } = await aServer((_, response) => {
    if (isSlow) running.push(() => response.end('late'))
    else response.end('ok')
  })
  const { ask, isLaid } = aPool(url)
  await isLaid()
  isSlow = true
  const late = [ask(), ask()]
  await until(() => running.length === 2)
  const closed = server.dispose(60_000)
  // On a strand that was kept: it is heard for a while, as other connections are.
  isSlow = false
  expect(await ask()).toEqual({ text: 'ok', isStrand: true })
  await expect(until(async () => !(await ask()).isStrand)).rejects.toThrow(/ECONNREFUSED/)
  for (const finish of running) finish()
  expect(await Promise.all(late)).toEqual([
    { text: 'late', isStrand: true },
    { text: 'late', isStrand: true },
  ])
  await closed
})

test('a cable that is lost takes its strands with it, requests go on without, and another is laid', async () => {
  let isSilent = false
  const { url } = await aServer((_, response) => {
    if (!isSilent) response.end('ok')
  })
  const bridge = await aBreakable(url)
  const { ask, isLaid } = aPool(bridge.url)
  await isLaid()
  isSilent = true
  const lost = [ask(), ask()]
  for (const one of lost) one.catch(() => {})
  await until(() => bridge.bytes() > 0)
  bridge.breakAll()
  for (const one of lost) await expect(one).rejects.toMatchObject({ code: 'ECONNRESET' })
  isSilent = false
  expect(await ask()).toEqual({ text: 'ok', isStrand: false })
  await isLaid()
})

test('a request on a cable that ends in the same moment is asked again, on a connection of its own', async () => {
  let asked = 0
  let isEnding = false
  const { url } = await aServer((request, response) => {
    asked += 1
    if (!isEnding) return void response.end('ok')
    isEnding = false
    request.socket.destroy()
  })
  const { pool, at, isLaid } = aPool(url)
  await isLaid()
  const before = asked
  isEnding = true
  const front = await serve((request, response) => {
    const upstream = { ...at, path: '/x', pool, headers: instead({}) }
    forward(request, response, upstream, { onForwarded: () => {} }, Buffer.from('{}'))
  })
  const answer = await fetch(front, { method: 'POST', body: '{}' })
  expect([await answer.text(), asked - before]).toEqual(['ok', 2])
})

/** A way to a server that can be cut. */
async function aBreakable(url: string) {
  const { hostname: host, port } = new URL(url)
  const sockets = new Set<Socket>()
  let bytes = 0
  const server = createServer((near) => {
    const far = connect({ host, port: Number(port) })
    near.on('data', (piece) => (bytes += piece.length))
    near.pipe(far).pipe(near)
    for (const socket of [near, far]) sockets.add(socket.on('error', () => {}))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const breakAll = (): void => {
    for (const socket of sockets) socket.destroy()
    sockets.clear()
  }
  onTestFinished(() => {
    breakAll()
    server.close()
  })
  const { port: ours } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${ours}`, breakAll, bytes: () => bytes }
}
