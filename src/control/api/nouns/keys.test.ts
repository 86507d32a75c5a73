import { describe, expect, test } from 'vitest'
import type { KeyCreated, KeyInput, KeyView } from '../../../api/admin/schemas.ts'
import { hashSecret } from '../../../platform/secrets.ts'
import { listRoutedKeys } from '../../../store/nouns/api-keys.ts'
import { listEvents } from '../../../store/nouns/events.ts'
import { ADMIN_KEY } from '../../../../test/support/control/control-scene.ts'
import { aLoggedScene } from '../../../../test/support/control/logged-scene.ts'
import { until } from '../../../../test/support/until.ts'
import { adminKeyMessages } from '../../joining/admin-key.ts'

interface Failed {
  error: { message: string; code: string }
}

async function aScene() {
  const { scene, db, lines } = await aLoggedScene()
  const create = async (body: Partial<KeyInput> = {}) =>
    (await scene.admin<KeyCreated>('POST', '/api/keys', { name: 'notebook', ...body })).body
  const list = async () => (await scene.admin<KeyView[]>('GET', '/api/keys')).body
  const as = <T = Failed>(key: string, method = 'GET', path = '/api/keys', body?: unknown) =>
    scene.call<T>(method, path, body, `Bearer ${key}`)
  const events = async () => (await listEvents(db, 0, 1000)).filter(({ action }) => action.startsWith('key.'))
  return { scene, db, lines, create, list, as, events }
}

describe('an API key', () => {
  test('is made with defaults: for inference, all models, for ever', async () => {
    const { scene, create, list, events } = await aScene()
    const changes = scene.asked.changes
    const { key, ...view } = await create()
    expect(key).toMatch(/^fk_[\w-]{43}$/)
    expect(view).toMatchObject({ name: 'notebook', state: 'active', scopes: ['inference'], models: null })
    expect(view).toMatchObject({ expires_at: null, last_used_at: null })
    expect(await list()).toEqual([view])
    expect(await events()).toMatchObject([
      {
        actor: 'admin',
        action: 'key.created',
        reason: 'the API key "notebook" was made',
        data: { key_id: view.id, scopes: ['inference'], models: null },
      },
    ])
    expect(scene.asked.changes).toBe(changes + 1)
  })

  test('holds what it was given, each thing once', async () => {
    const { create, db } = await aScene()
    const { key, ...made } = await create({
      scopes: ['inference', 'inference'],
      models: ['m', 'm', 'n'],
      expires_in_s: 60,
    })
    expect(made).toMatchObject({ scopes: ['inference'], models: ['m', 'n'], expires_at: made.created_at + 60_000 })
    expect(await listRoutedKeys(db)).toEqual([
      {
        id: made.id,
        key_hash: hashSecret(key),
        scopes: ['inference'],
        models: ['m', 'n'],
        expires_at: made.expires_at,
      },
    ])
  })

  test.each<[string, object, string]>([
    ['no name', { name: undefined }, 'name: '],
    ['an empty name', { name: '' }, 'name: must not be empty'],
    ['a name with a line break', { name: 'a\nb' }, 'name: must not contain control characters'],
    ['no scope', { scopes: [] }, 'scopes: '],
    ['an unknown scope', { scopes: ['root'] }, 'scopes.0: '],
    ['no models at all', { models: [] }, 'models: '],
    ['a model without a name', { models: [''] }, 'models.0: '],
    ['a list of models for an admin', { models: ['m'], scopes: ['admin'] }, 'takes a list of models'],
    ['an end in the past', { expires_in_s: 0 }, 'expires_in_s: '],
    ['a text of its own', { key: 'fk_mine' }, 'key'],
  ])('is refused with %s', async (_, fields, message) => {
    const { scene, list } = await aScene()
    const answer = await scene.admin<Failed>('POST', '/api/keys', { name: 'x', ...fields })
    expect([answer.status, answer.body.error.message]).toEqual([400, expect.stringContaining(message)])
    expect(await list()).toEqual([])
  })

  test('is revoked once; revoking it again changes nothing; an unknown one is not found', async () => {
    const { scene, create, events, db } = await aScene()
    const { id } = await create()
    const { id: other } = await create({ name: 'other' })
    for (let i = 0; i < 2; i += 1) {
      const answer = await scene.admin<KeyView>('DELETE', `/api/keys/${id}`)
      expect(answer).toMatchObject({ status: 200, body: { id, state: 'revoked' } })
    }
    expect((await events()).map(({ action }) => action)).toEqual(['key.created', 'key.created', 'key.revoked'])
    expect((await events()).at(-1)).toMatchObject({ actor: 'admin', data: { key_id: id } })
    expect((await listRoutedKeys(db)).map((key) => key.id)).toEqual([other])
    expect((await scene.admin<Failed>('DELETE', '/api/keys/nobody')).status).toBe(404)
  })

  test('is replaced without a gap: the new one may do the same, and the old one ends a while later', async () => {
    const { scene, create, list, db, events } = await aScene()
    const old = await create({ name: 'app', models: ['m'], expires_in_s: 90 * 86_400 })
    const rotate = (body: object, id = old.id) => scene.admin<KeyCreated>('POST', `/api/keys/${id}/rotate`, body)
    const { status, body: made } = await rotate({ overlap_s: 3600 })
    expect(status).toBe(200)
    expect(made).toMatchObject({ name: 'app', scopes: ['inference'], models: ['m'], state: 'active' })
    expect(made.expires_at! - made.created_at).toBe(90 * 86_400_000)
    expect((await listRoutedKeys(db)).map(({ key_hash: hash }) => hash).toSorted()).toEqual(
      [hashSecret(old.key), hashSecret(made.key)].toSorted(),
    )
    const after = (await list()).find(({ id }) => id === old.id)!
    expect(Math.abs(after.expires_at! - made.created_at - 3_600_000)).toBeLessThan(1000)
    // Once more: what ends soon is not made to last longer.
    await rotate({ overlap_s: 7200 })
    expect((await list()).find(({ id }) => id === old.id)!.expires_at).toBe(after.expires_at)
    expect((await events()).at(-1)).toMatchObject({ action: 'key.rotated', data: { replaced_id: old.id } })
    await rotate({ overlap_s: 0 })
    expect(await rotate({})).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringContaining('no longer works') } },
    })
    expect((await rotate({}, 'nobody')).status).toBe(404)
  })

  test('of which gateways could not hold all lists of models is refused', async () => {
    const { scene, db, create, list, events } = await aScene()
    const models = Array.from({ length: 1000 }, (_, i) => `${i}`.padEnd(200, 'm'))
    const { id } = await create({ models })
    await db.transaction((tx) => tx.query('update api_keys set models = $1', [JSON.stringify(['m'.repeat(3_900_000)])]))
    const answer = await scene.admin<Failed>('POST', '/api/keys', { name: 'more', models })
    expect(answer).toMatchObject({ status: 409, body: { error: { message: expect.stringContaining('Revoke some') } } })
    expect([(await list()).length, (await events()).length]).toEqual([1, 1])
    expect((await create()).state).toBe('active')
    await scene.admin('DELETE', `/api/keys/${id}`)
    expect((await create({ models })).state).toBe('active')
  })
})

describe('an API key with the scope admin', () => {
  test('opens the admin API, and events name it', async () => {
    const { create, as, events, list } = await aScene()
    const { key } = await create({ name: 'deploy', scopes: ['admin'] })
    const made = await as<KeyCreated>(key, 'POST', '/api/keys', { name: 'second' })
    expect(made.status).toBe(200)
    expect((await as(key, 'DELETE', `/api/keys/${made.body.id}`)).status).toBe(200)
    expect((await events()).map(({ actor }) => actor)).toEqual(['admin', 'key deploy', 'key deploy'])
    await until(async () => (await list()).find(({ name }) => name === 'deploy')!.last_used_at !== null)
    expect((await list()).find(({ name }) => name === 'second')).toMatchObject({ last_used_at: null })
  })

  test('no longer does when it was revoked or has expired', async () => {
    const { scene, create, as, db } = await aScene()
    const [revoked, expired] = [
      await create({ scopes: ['admin'] }),
      await create({ scopes: ['admin'], expires_in_s: 9 }),
    ]
    for (const { key } of [revoked, expired]) expect((await as(key)).status).toBe(200)
    await scene.admin('DELETE', `/api/keys/${revoked.id}`)
    await db.transaction((tx) => tx.query('update api_keys set expires_at = now_ms() where id = $1', [expired.id]))
    for (const { key } of [revoked, expired]) {
      expect(await as(key)).toMatchObject({ status: 401, body: { error: { message: 'The admin key is wrong.' } } })
    }
  })

  test('is the only kind that does', async () => {
    const { create, as } = await aScene()
    const { key, id } = await create()
    expect(await as(key)).toMatchObject({
      status: 403,
      body: { error: { code: 'forbidden', message: expect.stringContaining('--scope read') } },
    })
    for (const other of [id, hashSecret(key), key.slice(0, -1), `${key}x`, hashSecret(ADMIN_KEY), 'fk_']) {
      expect((await as(other)).status).toBe(401)
    }
  })

  test('is not taken from x-api-key, from the URL, or from one of two headers', async () => {
    const { scene, create } = await aScene()
    const { key } = await create({ scopes: ['admin'] })
    const get = async (path: string, headers: [string, string][]) => {
      const response = await fetch(`${scene.url}${path}`, { headers })
      return response.status
    }
    expect(await get('/api/keys', [['x-api-key', key]])).toBe(401)
    expect(await get(`/api/keys?key=${key}`, [])).toBe(401)
    // fetch joins the two into one header: two tokens are none.
    const twice: [string, string][] = [
      ['authorization', `Bearer ${key}`],
      ['authorization', `Bearer ${ADMIN_KEY}`],
    ]
    expect(await get('/api/keys', twice)).toBe(401)
  })
})

test('a gateway takes the admin key for a key that may do everything', () => {
  expect(adminKeyMessages('fla_x', [hashSecret('fla_x')])).toEqual([
    {
      id: 'admin',
      key_hash: hashSecret('fla_x'),
      scopes: ['admin'],
      models: null,
      expires_at: null,
    },
  ])
})

test('the text of a key is in the answer that made it and nowhere else: no list, no event, no log, no store', async () => {
  const { scene, create, as, db, lines } = await aScene()
  const { key, id } = await create({ scopes: ['admin'] })
  const answers = [
    await as(key),
    await as(`${key}x`),
    await as(key, 'GET', '/api/keys/nothing'),
    await as(key, 'POST', '/api/keys', '{'),
    await as(key, 'DELETE', `/api/keys/${id}`),
    await as(key),
    await scene.admin('GET', '/api/keys'),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 401, 405, 400, 200, 401, 200])
  const told = [JSON.stringify(answers), lines.join(''), JSON.stringify(await listEvents(db, 0, 1000))]
  for (const text of told) {
    expect(text).not.toContain(key.slice(3))
    expect(text).not.toContain(hashSecret(key))
  }
  expect(lines.join('')).toContain('key.created')
  expect(JSON.stringify(await db.query('select * from api_keys'))).not.toContain(key.slice(3))
})
