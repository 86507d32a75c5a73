import { expect, test } from 'vitest'
import { BodyBudget } from '../../http/server/body-budget.ts'
import { hashSecret } from '../../platform/secrets.ts'
import { aGateway, answer, refuseWith } from '../../../test/support/gateway/gateway-stage.ts'
import { rawClient } from '../../../test/support/http/raw-client.ts'
import { until } from '../../../test/support/until.ts'

const MIB = 1024 * 1024

const aKey = (key: string) => ({
  id: key,
  key_hash: hashSecret(key),
  scopes: ['inference' as const],
  models: null,
  expires_at: null,
})

/** A request of which so much is sent and no more. */
async function aPart(url: string, key: string, announced: number, sent: number, path = '/v1/x') {
  const client = await rawClient(url)
  const lines = ['Host: 127.0.0.1', `Authorization: Bearer ${key}`, `Content-Length: ${announced}`]
  client.send(`POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
  const body = Buffer.alloc(sent, ' ')
  body.write('{"model":"m","x":"')
  client.send(body)
  return client
}

test.each(['/v1/x', '/api/chat'])(
  'one client that fills the memory for bodies at %s has half of it, and others are served',
  async (path) => {
    const bodies = new BodyBudget(4 * MIB)
    const { url, ask } = await aGateway([answer('{}')], { limits: { bodies }, keys: [aKey('fk_a'), aKey('fk_b')] })
    const clients = await Promise.all(Array.from({ length: 10 }, () => aPart(url, 'fk_a', 2 * MIB - 1, 500_000, path)))
    const refused = () => clients.filter((client) => client.text().startsWith('HTTP/1.1 503 '))
    await until(() => refused().length >= 6)
    expect(refused()[0]!.text()).toMatch(/retry-after: 5\r/i)
    expect(bodies.heldBytes).toBeLessThanOrEqual(2 * MIB)
    const body = JSON.stringify({ model: 'm', x: 'y'.repeat(MIB) })
    const other = await ask(body, { headers: { authorization: 'Bearer fk_b' } })
    expect(other.status).toBe(200)
    for (const client of clients) client.socket.destroy()
    await until(() => bodies.heldBytes === 0)
  },
)

test('a full memory for bodies makes room for a small one, by giving up the largest that is not whole', async () => {
  const bodies = new BodyBudget(4 * MIB)
  const keys = ['fk_a', 'fk_b', 'fk_c'].map(aKey)
  const { url, ask } = await aGateway([answer('{}')], { limits: { bodies }, keys })
  const clients = await Promise.all(['fk_a', 'fk_b'].map((key) => aPart(url, key, 2 * MIB, 2 * MIB - 1000)))
  await until(() => bodies.heldBytes === 4 * MIB - 2000)
  const body = JSON.stringify({ model: 'm', x: 'y'.repeat(100_000) })
  expect((await ask(body, { headers: { authorization: 'Bearer fk_c' } })).status).toBe(200)
  await until(() => clients.filter((client) => client.text().startsWith('HTTP/1.1 503 ')).length === 1)
})

test('a body that is longer than one client may have is refused by its head', async () => {
  const bodies = new BodyBudget(4 * MIB)
  const { url } = await aGateway([answer('{}')], { limits: { bodies }, keys: [aKey('fk_a')] })
  const client = await aPart(url, 'fk_a', 3 * MIB, 0)
  expect(await client.reads('--body-memory')).toMatch(/^HTTP\/1\.1 413 /)
})

test('a body counts until its request has ended, with every replica that was asked', async () => {
  const bodies = new BodyBudget(4 * MIB)
  let held = 0
  const { ask } = await aGateway(
    [
      refuseWith(503),
      (_, response) => {
        held = bodies.heldBytes
        response.end('{}')
      },
    ],
    { limits: { bodies } },
  )
  const body = JSON.stringify({ model: 'm', x: 'y'.repeat(300_000) })
  const response = await ask(body)
  await response.text()
  expect(held).toBe(body.length)
  await until(() => bodies.heldBytes === 0)
  expect((await ask(`{"x":"${'y'.repeat(300_000)}"}`)).status).toBe(400)
  expect(bodies.heldBytes).toBe(0)
})

test('short requests whose body comes with their head are not counted', async () => {
  const { url } = await aGateway([answer('{}')], { limits: { bodies: new BodyBudget(1) } })
  const client = await rawClient(url)
  const body = JSON.stringify({ model: 'm', x: 'y'.repeat(10_000) })
  client.send(`POST /v1/x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  expect(await client.reads('{}')).toMatch(/^HTTP\/1\.1 200 /)
})
