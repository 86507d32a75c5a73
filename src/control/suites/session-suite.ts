import { describe, expect, test } from 'vitest'
import type { KeyCreated } from '../../api/admin/schemas.ts'
import type { SessionView, SignInCode } from '../../api/admin/session-schemas.ts'
import { request as httpRequest } from '../../http/server/node-http.ts'
import { hashSecret } from '../../platform/secrets.ts'
import { listRoutedKeys } from '../../store/nouns/api-keys.ts'
import { listEvents } from '../../store/nouns/events.ts'
import { ADMIN_KEY } from '../../../test/support/control/control-scene.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { sceneOn, type OpenStore } from './control-suite.ts'

type Headers = Record<string, string>

interface Seen {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: { error?: { message: string; code: string } } & Partial<SessionView>
}

/** As a browser asks: with headers that fetch would not let a script send. */
function browse(url: string, method: string, path: string, headers: Headers = {}, body?: unknown): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${url}${path}`, { method, headers, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: JSON.parse(text) as Seen['body'] }),
      )
    })
    request.on('error', reject)
    request.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

const dashboard = { 'x-flotilla-dashboard': '1' }

/** Signing in to the dashboard, by hand; run on each kind of store. */
export function describeSessions(storeName: string, openStore: OpenStore): void {
  describe(`sessions on ${storeName}`, () => {
    const clock = new VirtualClock(Date.now())
    const scene = sceneOn(openStore, { clock })
    const ask = (method: string, path: string, headers?: Headers, body?: unknown) =>
      browse(scene().url, method, path, headers, body)
    const signIn = (body: object, headers: Headers = {}) => ask('POST', '/api/session', headers, body)
    const cookieOf = ({ headers }: Seen) => String(headers['set-cookie']).split(';', 1)[0]!
    const signedIn = async (body: object = { key: ADMIN_KEY }): Promise<string> => cookieOf(await signIn(body))
    const aCode = async (authorization = `Bearer ${ADMIN_KEY}`) =>
      (await scene().call<SignInCode>('POST', '/api/session/codes', undefined, authorization)).body
    const aKey = async (fields: object = {}) =>
      (await scene().admin<KeyCreated>('POST', '/api/keys', { name: 'boss', scopes: ['admin'], ...fields })).body
    const nodes = (headers: Headers) => ask('GET', '/api/nodes', headers)
    const events = async () =>
      (await listEvents(scene().db, 0, 1000)).filter(({ action }) => action.startsWith('session.'))
    const run = (text: string, params: string[] = []) => scene().db.transaction((tx) => tx.query(text, params))

    describe('another admin key', () => {
      test('opens in the place of the old one, whose sessions and links end; those of API keys go on', async () => {
        const [byAdmin, byKey] = [await signedIn(), await signedIn({ key: (await aKey()).key })]
        const { code } = await aCode()
        const { body } = await scene().admin<{ key: string; ended_sessions: number }>('POST', '/api/admin-key/rotate')
        expect(body).toEqual({ key: expect.stringMatching(/^fla_[\w-]{43}$/), ended_sessions: 1 })
        expect((await nodes({ cookie: byAdmin })).status).toBe(401)
        expect((await nodes({ cookie: byKey })).status).toBe(200)
        expect((await signIn({ code })).status).toBe(401)
        expect((await nodes({ authorization: `Bearer ${ADMIN_KEY}` })).status).toBe(401)
        expect((await nodes({ authorization: `Bearer ${body.key}` })).status).toBe(200)
        const told = (await listEvents(scene().db, 0, 1000)).filter(({ action }) => action === 'admin_key.rotated')
        expect(told).toMatchObject([{ actor: 'admin', data: { ended_sessions: 1 } }])
        expect(JSON.stringify(told)).not.toContain(body.key)
      })
    })

    describe('signing in', () => {
      test('with the admin key sets a cookie that no script reads and that opens the admin API', async () => {
        const seen = await signIn({ key: ADMIN_KEY })
        expect(seen).toMatchObject({ status: 200, body: { signed_in: true, actor: 'admin' } })
        expect(seen.headers['set-cookie']).toEqual([
          expect.stringMatching(/^flotilla_session=fls_[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/),
        ])
        expect(seen.headers['cache-control']).toBe('no-store')
        const cookie = cookieOf(seen)
        expect((await nodes({ cookie })).status).toBe(200)
        expect((await nodes({ cookie: `a=b; ${cookie}; c=d` })).status).toBe(200)
        expect((await ask('GET', '/api/session', { cookie })).body).toMatchObject({
          signed_in: true,
          actor: 'admin',
          expires_at: seen.body.expires_at,
        })
      })

      test('over TLS, here or at a proxy, sets one that is never sent without', async () => {
        const { host } = new URL(scene().url)
        const seen = await signIn({ key: ADMIN_KEY }, { host: 'flotilla.test', origin: 'https://flotilla.test' })
        expect(String(seen.headers['set-cookie'])).toMatch(/; Secure$/)
        const plain = await signIn({ key: ADMIN_KEY }, { origin: `http://${host}` })
        expect(String(plain.headers['set-cookie'])).not.toContain('Secure')
      })

      test('keeps only a hash of what the cookie holds, and records the actor and the address', async () => {
        const cookie = await signedIn()
        const rows = JSON.stringify([await scene().db.query('select * from sessions'), await events()])
        expect(rows).not.toContain(cookie.split('=')[1])
        expect(await events()).toMatchObject([
          {
            actor: 'admin',
            action: 'session.started',
            reason: 'signed in to the dashboard with a key from 127.0.0.1',
            data: { address: '127.0.0.1' },
          },
        ])
      })

      test('with an API key for admins is in its name, until that key is revoked or has expired', async () => {
        const [revoked, expired] = [await aKey({ name: 'a' }), await aKey({ name: 'b', expires_in_s: 60 })]
        const cookies = [await signedIn({ key: revoked.key }), await signedIn({ key: expired.key })]
        for (const cookie of cookies) expect((await nodes({ cookie })).status).toBe(200)
        expect((await events()).map(({ actor }) => actor)).toEqual(['key a', 'key b'])
        await scene().admin('DELETE', `/api/keys/${revoked.id}`)
        await run('update api_keys set expires_at = now_ms() where id = $1', [expired.id])
        for (const cookie of cookies) {
          expect((await nodes({ cookie })).status).toBe(401)
          expect((await ask('GET', '/api/session', { cookie })).body).toMatchObject({ signed_in: false, actor: null })
        }
      })

      test.each<[string, () => Promise<object>, number, string]>([
        ['a wrong key', async () => ({ key: 'nope' }), 401, 'flotilla dashboard'],
        ['a wrong API key', async () => ({ key: 'fk_nope' }), 401, 'admin.key'],
        ['an API key for inference', async () => ({ key: (await aKey({ scopes: ['inference'] })).key }), 403, 'scope'],
        ['an unknown code', async () => ({ code: 'nope' }), 401, 'flotilla dashboard'],
        ['the admin key as a code', async () => ({ code: ADMIN_KEY }), 401, 'flotilla dashboard'],
        ['both', async () => ({ key: ADMIN_KEY, code: 'x' }), 400, 'a key or a code'],
        ['neither', async () => ({}), 400, 'a key or a code'],
      ])('is refused with %s', async (_, body, status, message) => {
        const seen = await signIn(await body())
        expect([seen.status, seen.body.error?.message]).toEqual([status, expect.stringContaining(message)])
        expect(seen.headers['set-cookie']).toBeUndefined()
        expect(await events()).toEqual([])
      })

      test('ends by itself, and the next sign-in forgets what has ended', async () => {
        const cookie = await signedIn()
        await run('update sessions set expires_at = now_ms()')
        expect(await nodes({ cookie })).toMatchObject({
          status: 401,
          body: { error: { message: expect.stringContaining('no longer signed in') } },
        })
        await signedIn()
        expect(await scene().db.query('select id from sessions')).toHaveLength(1)
      })
    })

    describe('a code', () => {
      test('signs in once, as the caller that asked for it', async () => {
        const { code, expires_at: expiresAt } = await aCode()
        expect(Math.abs(expiresAt - Date.now() - 600_000)).toBeLessThan(60_000)
        const [first, second] = await Promise.all([signIn({ code }), signIn({ code })])
        expect(new Set([first.status, second.status])).toEqual(new Set([200, 401]))
        expect((await signIn({ code })).body.error?.message).toContain('was used before')
        expect(await events()).toMatchObject([{ actor: 'admin', reason: expect.stringContaining('with a link') }])
      })

      test('can be made with a session, too, and never outlives the API key behind it', async () => {
        const { key, id } = await aKey()
        const cookie = await signedIn({ key })
        const made = await ask('POST', '/api/session/codes', { cookie, ...dashboard })
        const { code } = made.body as unknown as SignInCode
        const another = await signedIn({ code })
        expect((await ask('GET', '/api/session', { cookie: another })).body.actor).toBe('key boss')
        const unused = await aCode(`Bearer ${key}`)
        await scene().admin('DELETE', `/api/keys/${id}`)
        expect((await nodes({ cookie: another })).status).toBe(401)
        expect((await signIn({ code: unused.code })).status).toBe(401)
      })

      test('is none after its ten minutes', async () => {
        const { code } = await aCode()
        await run('update sign_in_codes set expires_at = now_ms()')
        const seen = await signIn({ code })
        expect([seen.status, seen.body.error?.message]).toEqual([401, expect.stringContaining('10 minutes')])
      })
    })

    describe('the key of a session for the playground', () => {
      const tokenOf = async (cookie: string) =>
        (await ask('POST', '/api/session/inference-token', { cookie, ...dashboard })).body as {
          token: string | null
          expires_at: number | null
        }
      const routed = async () => (await listRoutedKeys(scene().db)).filter(({ id }) => id.startsWith('session:'))

      test('is for inference alone, for an hour, the same for all pages of a session, and in no list', async () => {
        const cookie = await signedIn()
        const { token, expires_at: expiresAt } = await tokenOf(cookie)
        expect(await tokenOf(cookie)).toMatchObject({ token })
        expect((await tokenOf(await signedIn())).token).not.toBe(token)
        expect(token).toMatch(/^fk_[\w-]{43}$/)
        expect(Math.abs(expiresAt! - clock.nowMs() - 3_600_000)).toBeLessThan(600_000)
        const known = await routed()
        expect(known).toHaveLength(2)
        expect(known.find(({ key_hash: hash }) => hash === hashSecret(token!))).toMatchObject({
          scopes: ['inference'],
          models: null,
          expires_at: expect.any(Number),
        })
        const seen = await nodes({ authorization: `Bearer ${token}` })
        expect([seen.status, seen.body.error?.message]).toEqual([403, expect.stringContaining('for inference only')])
        expect((await scene().admin('GET', '/api/keys')).body).toEqual([])
        const rows = JSON.stringify([await scene().db.query('select * from api_keys'), await events()])
        expect(rows).not.toContain(token)
      })

      test.each([
        ['signs out', async (cookie: string) => void (await ask('DELETE', '/api/session', { cookie, ...dashboard }))],
        ['has another admin key', async () => void (await scene().admin('POST', '/api/admin-key/rotate'))],
        ['was signed in for too long', async () => void (await run('update sessions set expires_at = now_ms() - 1'))],
      ])('ends when its user %s', async (_, end) => {
        const cookie = await signedIn()
        await tokenOf(cookie)
        expect(await routed()).toHaveLength(1)
        await end(cookie)
        expect(await routed()).toEqual([])
        expect((await tokenOf(cookie)).token).toBeNull()
      })

      test('ends with the API key that the session began with, and before the session does', async () => {
        const { key, id } = await aKey()
        const cookie = await signedIn({ key })
        await run('update sessions set expires_at = now_ms() + 1000000')
        const { expires_at: expiresAt } = await tokenOf(cookie)
        const [session] = await scene().db.query<{ expires_at: number }>('select expires_at from sessions')
        expect(expiresAt).toBe(session!.expires_at)
        await scene().admin('DELETE', `/api/keys/${id}`)
        expect(await routed()).toEqual([])
      })

      test('is for sessions that may ask, by their own pages', async () => {
        const path = '/api/session/inference-token'
        expect((await ask('POST', path)).body).toEqual({ token: null, expires_at: null })
        const cookie = await signedIn()
        expect((await ask('POST', path, { cookie })).status).toBe(403)
        expect((await ask('POST', path, { cookie, ...dashboard, origin: 'http://evil.test' })).status).toBe(403)
        const mayLook = await signedIn({ key: (await aKey({ scopes: ['read'] })).key })
        const seen = await ask('POST', path, { cookie: mayLook, ...dashboard })
        expect([seen.status, seen.body.error?.message]).toEqual([403, expect.stringContaining('may only read')])
        const mayAsk = await signedIn({ key: (await aKey({ scopes: ['read', 'inference'] })).key })
        expect((await tokenOf(mayAsk)).token).toMatch(/^fk_/)
      })
    })

    describe('signing out', () => {
      test('ends that session and no other, once, and takes the cookie back', async () => {
        const [cookie, other] = [await signedIn(), await signedIn()]
        for (let i = 0; i < 2; i += 1) {
          const seen = await ask('DELETE', '/api/session', { cookie, ...dashboard })
          expect([seen.status, seen.headers['set-cookie']]).toEqual([
            200,
            ['flotilla_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict'],
          ])
        }
        expect([(await nodes({ cookie })).status, (await nodes({ cookie: other })).status]).toEqual([401, 200])
        expect((await events()).map(({ action }) => action)).toEqual([
          'session.started',
          'session.started',
          'session.ended',
        ])
      })

      test('without a cookie is nothing', async () => {
        expect((await ask('DELETE', '/api/session')).status).toBe(200)
        expect((await ask('GET', '/api/session')).body).toMatchObject({
          signed_in: false,
          actor: null,
          expires_at: null,
        })
      })
    })

    describe('a cookie counts only', () => {
      const change = (headers: Headers) => ask('POST', '/api/keys', headers, { name: 'x' })

      test('where no key is shown: a wrong one is wrong', async () => {
        const cookie = await signedIn()
        expect((await nodes({ cookie, authorization: 'Bearer nope' })).status).toBe(401)
        expect((await nodes({ cookie: 'flotilla_session=nope', authorization: `Bearer ${ADMIN_KEY}` })).status).toBe(
          200,
        )
        expect((await nodes({ cookie, authorization: 'Bearer' })).status).toBe(200)
      })

      test('in changes that carry the header of the dashboard', async () => {
        const cookie = await signedIn()
        expect((await change({ cookie, ...dashboard })).status).toBe(200)
        for (const headers of [{}, { 'x-flotilla-dashboard': '0' }]) {
          const seen = await change({ cookie, ...headers })
          expect([seen.status, seen.body.error?.message]).toEqual([
            403,
            expect.stringContaining('x-flotilla-dashboard'),
          ])
        }
        expect((await ask('DELETE', '/api/session', { cookie })).status).toBe(403)
        expect((await nodes({ cookie })).status).toBe(200)
      })

      test('in calls of our own pages', async () => {
        const cookie = await signedIn()
        const { host, port } = new URL(scene().url)
        const own: Headers[] = [
          { origin: `http://${host}` },
          { origin: `http://${host}`, 'sec-fetch-site': 'same-origin' },
          { 'sec-fetch-site': 'none' },
          { host: 'flotilla.test', origin: 'https://flotilla.test' },
          { host: 'flotilla.test:443', origin: 'https://flotilla.test' },
        ]
        const foreign: Headers[] = [
          { origin: 'http://evil.test' },
          { origin: 'null' },
          { origin: '' },
          { origin: `http://127.0.0.1:${Number(port) - 1}` },
          { origin: `http://${host}.evil.test` },
          { host: 'flotilla.test', origin: 'https://flotilla.test:8443' },
          { 'sec-fetch-site': 'cross-site' },
          { 'sec-fetch-site': 'same-site' },
          { origin: `http://${host}`, 'sec-fetch-site': 'cross-site' },
        ]
        for (const headers of own) {
          expect((await change({ cookie, ...dashboard, ...headers })).status, JSON.stringify(headers)).toBe(200)
        }
        for (const headers of foreign) {
          const statuses = [
            (await change({ cookie, ...dashboard, ...headers })).status,
            (await nodes({ cookie, ...headers })).status,
            (await ask('GET', '/api/session', { cookie, ...headers })).status,
            (await ask('DELETE', '/api/session', { cookie, ...dashboard, ...headers })).status,
            (await signIn({ key: ADMIN_KEY }, headers)).status,
          ]
          expect(statuses, JSON.stringify(headers)).toEqual([403, 403, 403, 403, 403])
        }
      })
    })

    describe('of guesses', () => {
      const guess = (headers: Headers = {}) => signIn({ key: 'guess' }, headers)
      const proxied = { 'x-forwarded-for': '203.0.113.9' }

      test('ten a minute are heard, however many come at once; then the right key must wait, too, but not for ever', async () => {
        const seen = await Promise.all(Array.from({ length: 30 }, () => guess()))
        expect(seen.filter(({ status }) => status === 401)).toHaveLength(10)
        const refused = seen.filter(({ status }) => status === 429)
        expect(refused).toHaveLength(20)
        expect(refused[0]!.headers['retry-after']).toBe('60')
        await clock.advance(59_000)
        const right = await signIn({ key: ADMIN_KEY })
        expect([right.status, right.headers['retry-after']]).toEqual([429, '1'])
        await clock.advance(1000)
        expect((await signIn({ key: ADMIN_KEY })).status).toBe(200)
      })

      test('failures from behind a proxy do not lock out callers on this machine', async () => {
        for (let i = 0; i < 11; i += 1) await guess(proxied)
        expect((await signIn({ key: ADMIN_KEY }, proxied)).status).toBe(429)
        expect((await signIn({ key: ADMIN_KEY })).status).toBe(200)
      })

      test('a correct key, or one without the needed scope, does not count', async () => {
        const { key } = await aKey({ scopes: ['inference'] })
        for (let i = 0; i < 12; i += 1) expect((await signIn({ key })).status).toBe(403)
        for (let i = 0; i < 12; i += 1) expect((await signIn({ key: ADMIN_KEY })).status).toBe(200)
      })
    })
  })
}
