import { expect, test } from 'vitest'
import { adminRoutes } from '../../api/admin/routes.ts'
import type { KeyCreated } from '../../api/admin/schemas.ts'
import { aStage, sharedStage } from '../../../test/support/control/admin-stage.ts'
import { ADMIN_KEY } from '../../../test/support/control/control-scene.ts'

const shared = sharedStage()

test('wrong keys: after twenty a minute the answer is 429 with the time to wait, and a right key opens all the same', async () => {
  const { scene } = await aStage()
  const { body: made } = await scene.admin<KeyCreated>('POST', '/api/keys', { name: 'look', scopes: ['read'] })
  // As through a proxy on this machine, since a test has no other machine to come from.
  const ask = (key: string) =>
    fetch(`${scene.url}/api/nodes`, { headers: { authorization: `Bearer ${key}`, 'x-forwarded-for': '203.0.113.7' } })
  const statuses = []
  for (let i = 0; i < 22; i += 1) statuses.push((await ask(i % 2 ? 'nope' : `fk_${i}`)).status)
  expect(statuses).toEqual([...Array.from({ length: 20 }, () => 401), 429, 429])
  expect(Number((await ask('nope')).headers.get('retry-after'))).toBeGreaterThan(0)
  for (const right of [ADMIN_KEY, made.key]) expect((await ask(right)).status).toBe(200)
  const here = await fetch(`${scene.url}/api/nodes`, { headers: { authorization: 'Bearer nope' } })
  expect(here.status).toBe(401)
})

const withBody = Object.entries(adminRoutes).flatMap(([name, route]) =>
  'body' in route ? [[name, route] as const] : [],
)

test.each(withBody)('prototype pollution: %s changes nothing that every object has', async (_, { method, path }) => {
  const { scene, thor } = shared()
  const at = path.replace(':id', thor.nodeId).replaceAll(/:\w+/g, '__proto__')
  const bodies = [
    '{"__proto__":{"polluted":1}}',
    '{"constructor":{"prototype":{"polluted":1}}}',
    '{"labels":{"__proto__":"x"}}',
  ]
  for (const body of bodies) await scene.admin(method, at, body)
  expect('polluted' in {}).toBe(false)
  expect(Object.getOwnPropertyNames(Object.prototype)).toHaveLength(12)
})
