import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { clusterCa, issuePair } from '../../control/joining/cluster-ca.ts'
import { newSeed } from '../../bus/nkey.ts'
import { ConnectionPool } from '../../http/upstream/connection-pool.ts'
import type { ExchangeHandler } from '../../http/exchange.ts'
import { ClientTls } from '../../platform/tls/client-tls.ts'
import type { CallEvents } from '../../http/upstream/upstream-connection.ts'
import { serve } from '../../../test/support/http/http.ts'
import { rawClient } from '../../../test/support/http/raw-client.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { DataTls, isDataTlsWanted, type DataTlsMode } from './data-tls.ts'

const SECRET = 'flc_secret'
const ca = clusterCa(SECRET)

async function aPort(mode: DataTlsMode = 'auto', seed = newSeed(), file = join(tempFolder(), 'data.ca')) {
  const tls = new DataTls(seed, mode, file)
  tls.use(ca.certificate)
  const heard: string[] = []
  const handler: ExchangeHandler = (request, response) => {
    heard.push(request.url ?? '')
    response.writeHead(200, { 'content-length': '2' }).end('ok')
  }
  const options = {
    upgrade: () => tls.upgrade,
    mayBePlain: (socket: Parameters<DataTls['mayBePlain']>[0]) => tls.mayBePlain(socket),
  }
  const url = await serve(handler, { tls: options, wire: { prefix: '/', handler } })
  const at = { host: '127.0.0.1', port: Number(new URL(url).port) }
  return { tls, url, at, heard, seed, file }
}

function aClient(secret = SECRET): ClientTls {
  const client = new ClientTls()
  client.show(issuePair(clusterCa(secret), 'client', 'flotilla gateway', Date.now()))
  return client
}

/** The answer's body, as a gateway gets it. */
function ask(pool: ConnectionPool, at: { host: string; port: number }, client: ClientTls, fingerprint: string) {
  return new Promise<string>((resolve, reject) => {
    let text = ''
    const events: CallEvents = {
      onHead() {},
      onBody: (piece) => void (text += piece.toString()),
      onEnd: () => resolve(text),
      onPause() {},
      onDrain() {},
      onFailed: reject,
    }
    pool
      .take(at, { client, fingerprint })
      .begin('GET', 'GET /replicas/a HTTP/1.1\r\nhost: a\r\n\r\n', undefined, events)
  })
}

describe('an encrypted data port', () => {
  test('serves gateways of its cluster that know it, on connections that are kept', async () => {
    const { tls, at, heard } = await aPort('on')
    const [pool, client] = [new ConnectionPool(), aClient()]
    expect(await ask(pool, at, client, tls.fingerprint)).toBe('ok')
    expect(await ask(pool, at, client, tls.fingerprint)).toBe('ok')
    pool.destroy()
    expect(heard).toHaveLength(2)
  })

  test('goes on with a session at the next connection, and only with the right node', async () => {
    const { tls, at } = await aPort('on')
    const client = aClient()
    const isReused: boolean[] = []
    for (const _time of [1, 2]) {
      const pool = new ConnectionPool()
      expect(await ask(pool, at, client, tls.fingerprint)).toBe('ok')
      const socket = client.connect({ ...at, fingerprint: tls.fingerprint })
      await new Promise((resolve) => socket.once('secureConnect', resolve))
      isReused.push(socket.isSessionReused())
      socket.destroy()
      pool.destroy()
    }
    expect(isReused).toContain(true)
    const other = new DataTls(newSeed(), 'on', join(tempFolder(), 'ca')).fingerprint
    await expect(ask(new ConnectionPool(), at, client, other)).rejects.toThrow('has the fingerprint')
  })

  test('that is not the one that was meant gets nothing, and it counts as not connected', async () => {
    const { at, heard } = await aPort('on')
    const other = `sha256:${'0'.repeat(64)}`
    const failure = await ask(new ConnectionPool(), at, aClient(), other).catch((error: unknown) => error)
    expect(failure).toMatchObject({ syscall: 'connect' })
    expect(heard).toEqual([])
  })

  test('refuses who shows no certificate, or one of another cluster', async () => {
    const { tls, at, heard } = await aPort('on')
    for (const client of [new ClientTls(), aClient('another')]) {
      await expect(ask(new ConnectionPool(), at, client, tls.fingerprint)).rejects.toThrow(/.+/)
    }
    expect(heard).toEqual([])
  })

  test.each([
    ['auto', 'HTTP/1.1 200'],
    ['on', 'use https://'],
  ] as const)('with --data-tls %s answers plain HTTP of this machine with %s', async (mode, answer) => {
    const { url } = await aPort(mode)
    const client = await rawClient(url.replace('https:', 'http:'))
    client.send('GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
    expect(await client.closes()).toContain(answer)
  })

  test('has the same certificate after a restart, and knows its cluster before anybody answers', async () => {
    const { tls, seed, file } = await aPort()
    const again = new DataTls(seed, 'auto', file)
    expect(again.fingerprint).toBe(tls.fingerprint)
    expect(again.upgrade).toBeDefined()
    expect(new DataTls(newSeed(), 'auto', file).fingerprint).not.toBe(tls.fingerprint)
  })

  test('of a frontend that knows nothing of it is plain, unless it must not be', () => {
    const open = (mode: DataTlsMode) => new DataTls(newSeed(), mode, join(tempFolder(), 'ca'))
    const auto = open('auto')
    expect([auto.use(undefined), auto.upgrade, open('on').use(undefined)]).toEqual([true, undefined, false])
  })
})

test('by default a port is encrypted beyond this machine', () => {
  const [here, all] = [
    { host: '127.0.0.1', port: 1 },
    { host: '0.0.0.0', port: 1 },
  ]
  const wanted = [
    isDataTlsWanted('auto', here, undefined),
    isDataTlsWanted('auto', all, undefined),
    isDataTlsWanted('auto', here, { host: '10.0.0.1', port: 1 }),
    isDataTlsWanted('off', all, undefined),
    isDataTlsWanted('on', here, undefined),
  ]
  expect(wanted).toEqual([false, true, true, false, true])
})
