import { expect, test } from 'vitest'
import type { Route } from '../../api/admin/route.ts'
import { adminRoutes } from '../../api/admin/routes.ts'
import { BodyBudget } from '../../http/server/body-budget.ts'
import { aStage, sharedStage } from '../../../test/support/control/admin-stage.ts'
import { ADMIN_KEY, JOIN_TOKEN, signatureOf } from '../../../test/support/control/control-scene.ts'
import { rawClient } from '../../../test/support/http/raw-client.ts'
import { until } from '../../../test/support/until.ts'

const shared = sharedStage()

const withBody = Object.entries<Route>(adminRoutes).filter(([, { body }]) => body !== undefined)
const keyless = withBody.filter(([, { auth }]) => auth !== 'admin' && auth !== 'read')

test('every route that takes a body without the key of an admin states how long it may be', () => {
  const limits = Object.fromEntries(keyless.map(([name, { mostBodyBytes }]) => [name, mostBodyBytes]))
  expect(limits).toEqual({ registerNode: 256 * 1024, deregisterNode: 4096, signIn: 4096 })
})

test.each(withBody)('a longer body for %s is refused by its head', async (_, { method, path, auth, mostBodyBytes }) => {
  const { scene, thor } = shared()
  const at = path.replace(':id', thor.nodeId).replaceAll(/:\w+/g, 'x')
  const keys = {
    admin: `Bearer ${ADMIN_KEY}`,
    join: `Bearer ${JOIN_TOKEN}`,
    node: signatureOf(thor, method, at, Date.now()),
  }
  const key = auth === 'none' ? '' : `Authorization: ${keys[auth === 'read' ? 'admin' : auth]}\r\n`
  const client = await rawClient(scene.url)
  const length = (mostBodyBytes ?? 1024 * 1024) + 1
  client.send(`${method} ${at} HTTP/1.1\r\nHost: a\r\n${key}Content-Length: ${length}\r\n\r\n`)
  expect(await client.reads('larger than')).toMatch(/^HTTP\/1\.1 413 /)
})

const SIGN_IN = 'POST /api/session HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n'

test('of many sign-ins at once, ten of one address are read; the others are refused by their head', async () => {
  const { scene } = await aStage()
  const clients = await Promise.all(Array.from({ length: 30 }, () => rawClient(scene.url)))
  for (const client of clients) client.send(SIGN_IN)
  const answered = () => clients.filter((client) => client.text().startsWith('HTTP/1.1 429 '))
  await until(() => answered().length === 20)
  expect(answered()[0]!.text()).toMatch(/retry-after: \d+/i)
  // A body that never came was no guess: a later sign-in succeeds.
  for (const client of clients) client.socket.destroy()
  await until(async () => {
    const response = await fetch(`${scene.url}/api/session`, {
      method: 'POST',
      body: JSON.stringify({ key: ADMIN_KEY }),
    })
    return response.status === 200
  })
})

test('after ten wrong keys the next one is refused by its head', async () => {
  const { scene } = await aStage()
  const guess = () => fetch(`${scene.url}/api/session`, { method: 'POST', body: JSON.stringify({ key: 'nope' }) })
  for (let i = 0; i < 10; i += 1) expect((await guess()).status).toBe(401)
  const client = await rawClient(scene.url)
  client.send(SIGN_IN)
  expect(await client.reads('}')).toMatch(/^HTTP\/1\.1 429 /)
})

test('bodies count in the memory for bodies, and no longer when they were answered', async () => {
  const { scene } = await aStage()
  const bodies = new BodyBudget(20_000)
  scene.deps.bodies = bodies
  const body = JSON.stringify({ name: 'x'.repeat(9000) })
  const client = await rawClient(scene.url)
  const head = `POST /api/keys HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${ADMIN_KEY}\r\nContent-Length: ${body.length}\r\n\r\n`
  client.send(head + body.slice(0, 8000))
  await until(() => bodies.heldBytes === 8000)
  const other = await fetch(`${scene.url}/api/keys`, {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${ADMIN_KEY}` },
  })
  expect([other.status, other.headers.get('retry-after')]).toEqual([503, '5'])
  client.send(body.slice(8000))
  expect(await client.reads('name')).toMatch(/^HTTP\/1\.1 400 /)
  expect(bodies.heldBytes).toBe(0)
})
