import { describe, expect, onTestFinished, test } from 'vitest'
import { aCertificatePair } from '../../../test/support/http/certificates.ts'
import { serve } from '../../../test/support/http/http.ts'
import { rawClient } from '../../../test/support/http/raw-client.ts'
import { until } from '../../../test/support/until.ts'
import type { ExchangeHandler } from '../../http/exchange.ts'
import { halfClosedSuite } from '../../http/server/half-closed-suite.ts'
import { httpLimitsSuite } from '../../http/server/limits-suite.ts'
import type { HttpLimits } from '../../http/server/limits.ts'
import { readBody, startHttpServer } from '../../http/server.ts'
import { silentLogger } from '../run/log.ts'
import { fixedTls } from './listener-tls.ts'
import { TlsUpgrade } from './tls-upgrade.ts'

function encrypted() {
  const { upgrade } = fixedTls(aCertificatePair())
  return { upgrade: () => upgrade }
}

/** By the wire, as gateways and data ports serve. */
function serveEncrypted(handler: ExchangeHandler, limits: Partial<HttpLimits> = {}): Promise<string> {
  return serve(handler, { limits, tls: encrypted(), wire: { prefix: '/', handler } })
}

describe('limits', () => {
  httpLimitsSuite(serveEncrypted)
})
describe('half-closed clients', () => {
  halfClosedSuite(serveEncrypted)
})

describe('an encrypted listener', () => {
  test.each([
    ['the fast way', 'POST /v1/x HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi', '<fast /v1/x hi>'],
    ['the other way', 'PUT /v1/x HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi', '<slow /v1/x hi>'],
  ])('serves by %s', async (_, text, answer) => {
    const by =
      (way: string): ExchangeHandler =>
      async (request, response) =>
        void response.end(`<${way} ${request.url} ${(await readBody(request, 1000)).toString()}>`)
    const client = await rawClient(
      await serve(by('slow'), { tls: encrypted(), wire: { prefix: '/v1/', handler: by('fast') } }),
    )
    const count = (): number => client.text().split(answer).length - 1
    for (const times of [1, 2]) {
      client.send(text)
      await until(() => count() === times)
    }
    expect(count()).toBe(2)
  })

  test('tells who speaks plain HTTP to use https, and serves him nothing', async () => {
    let served = 0
    const url = await serveEncrypted((_, response) => {
      served += 1
      response.end()
    })
    const client = await rawClient(url.replace('https:', 'http:'))
    client.send('GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n')
    const answer = await client.closes()
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request/)
    expect(answer).toContain('use https:// in the address')
    expect(served).toBe(0)
  })

  test('ends who says nothing, breaks the handshake off, or says something else', async () => {
    const upgrade = new TlsUpgrade(aCertificatePair(), 100)
    const options = { tls: { upgrade: () => upgrade }, limits: { headMs: 100 } }
    const url = (await serve((_, response) => void response.end(), options)).replace('https:', 'http:')
    const [silent, broken, other] = [await rawClient(url), await rawClient(url), await rawClient(url)]
    broken.send(Buffer.from('1603010200', 'hex'))
    broken.endSending()
    other.send(Buffer.from('16030100050100000000', 'hex'))
    for (const client of [silent, broken, other]) await client.closes()
    expect(silent.text()).toBe('')
  })

  test('takes plain connections as well from those who may', async () => {
    const tls = { ...encrypted(), mayBePlain: () => true }
    const handler: ExchangeHandler = (request, response) => void response.end(`<${request.url}>`)
    const url = await serve(handler, { tls, wire: { prefix: '/v1/', handler } })
    for (const path of ['/v1/a', '/other']) {
      for (const address of [url, url.replace('https:', 'http:')]) {
        const client = await rawClient(address)
        client.send(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`)
        expect(await client.reads('>')).toContain(`<${path}>`)
      }
    }
  })

  test('ends with connections that have not said what they are', async () => {
    const handler: ExchangeHandler = (_, response) => void response.end()
    const listen = { host: '127.0.0.1', port: 0 }
    const fixed = { listen, purpose: 'a test', flag: '--none', handler, log: silentLogger }
    const server = await startHttpServer({ ...fixed, tls: encrypted() })
    onTestFinished(() => server.dispose(0))
    const client = await rawClient(`http://127.0.0.1:${server.address.port}`)
    await server.dispose(10_000)
    await client.closes()
    expect(client.text()).toBe('')
  })
})
