import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import fc from 'fast-check'
import type { RoutedKeyMessage } from '../../api/bus/messages.ts'
import { sendJson, type Handler } from '../../http/server.ts'
import { hashSecret, newSecret } from '../../platform/secrets.ts'
import { WrongKeys } from '../../http/server/failure-throttle.ts'
import { serve } from '../../../test/support/http/http.ts'
import { allowInference, allowMetrics, callerOf, type GuardDeps } from './guard.ts'

const NOW_MS = 1_000_000
const ADMIN = 'fla_admin'

function aKey(text: string, fields: Partial<RoutedKeyMessage> = {}): RoutedKeyMessage {
  return { id: text, key_hash: hashSecret(text), scopes: ['inference'], models: null, expires_at: null, ...fields }
}

const keys = [
  aKey('fk_plain'),
  aKey('fk_boss', { scopes: ['admin'] }),
  aKey('fk_both', { scopes: ['inference', 'admin'] }),
  aKey('fk_some', { models: ['m', 'größe'] }),
  aKey('fk_later', { expires_at: NOW_MS + 1 }),
  aKey('fk_ended', { expires_at: NOW_MS }),
  aKey('fk_useless', { scopes: [] }),
]

function deps(fields: Partial<GuardDeps> & { known?: RoutedKeyMessage[] | undefined } = {}): GuardDeps {
  const { known = keys, ...rest } = fields
  const byHash = new Map(known.map((key) => [key.key_hash, key]))
  return {
    keys: { hasSnapshot: () => true, keyByHash: (hash) => byHash.get(hash) },
    clock: { nowMs: () => NOW_MS },
    localInference: true,
    adminKeyHash: hashSecret(ADMIN),
    ...rest,
  }
}

/** Answers with the caller that was admitted. Its address is invented; all else comes from a real parser. */
function guarded(guard: GuardDeps, from: string): Handler {
  return (request, response) => {
    const seen = Object.create(request, { socket: { value: { remoteAddress: from } } }) as typeof request
    sendJson(response, 200, allowInference(seen, guard))
  }
}

interface Asked {
  from?: string
  host?: string
  headers?: string[]
  path?: string
  guard?: GuardDeps
}

/** Says exactly these headers, twice if told so. */
async function ask({ from = '127.0.0.1', host = '127.0.0.1:8080', headers = [], path = '/v1/x', guard }: Asked) {
  const { port } = new URL(await serve(guarded(guard ?? deps(), from)))
  const socket = connect(Number(port), '127.0.0.1')
  const head = [`GET ${path} HTTP/1.1`, `Host: ${host}`, 'Connection: close', ...headers]
  socket.write(Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'))
  const answer = await text(socket)
  const [status, body] = [Number(answer.split(' ', 2)[1]), answer.slice(answer.indexOf('\r\n\r\n') + 4)]
  const parsed = JSON.parse(body) as { error?: { message: string }; keyId?: string | null; models?: string[] | null }
  return { status, body: parsed, message: parsed.error?.message ?? '', answer }
}

const bearer = (key: string): string => `Authorization: Bearer ${key}`
const LAN = '10.0.0.7'

describe('a key is good from anywhere', () => {
  test.each<[string, string, object]>([
    ['the admin key', ADMIN, { keyId: 'admin', models: null, isAdmin: true }],
    ['a key for inference', 'fk_plain', { keyId: 'fk_plain', models: null }],
    ['a key for the admin API', 'fk_boss', { keyId: 'fk_boss', models: null, isAdmin: true }],
    ['a key for both', 'fk_both', { keyId: 'fk_both', models: null, isAdmin: true }],
    ['a key for some models, which are told', 'fk_some', { keyId: 'fk_some', models: ['m', 'größe'] }],
    ['a key that has not expired yet', 'fk_later', { keyId: 'fk_later', models: null }],
  ])('%s', async (_, key, caller) => {
    for (const from of [LAN, '127.0.0.1', '::1']) {
      for (const header of [bearer(key), `authorization: bEARER   ${key}  `, `X-Api-Key: ${key}`]) {
        const { status, body } = await ask({ from, host: 'flotilla.example', headers: [header] })
        expect({ status, body }).toEqual({ status: 200, body: caller })
      }
    }
  })

  test('also from a web page and through a proxy', async () => {
    const headers = [bearer('fk_plain'), 'Origin: https://app.example', 'X-Forwarded-For: 1.2.3.4']
    expect((await ask({ headers })).body).toEqual({ keyId: 'fk_plain', models: null })
  })

  test('the same key in both headers is one key', async () => {
    expect((await ask({ from: LAN, headers: [bearer('fk_plain'), 'x-api-key: fk_plain'] })).status).toBe(200)
  })

  test('a gateway on its own knows the admin key as any other key', async () => {
    const known = [aKey(ADMIN, { id: 'admin', scopes: ['admin'] })]
    const alone = deps({ adminKeyHash: undefined, known })
    expect((await ask({ from: LAN, headers: [bearer(ADMIN)], guard: alone })).body.keyId).toBe('admin')
    const none = deps({ adminKeyHash: undefined, known: [] })
    expect((await ask({ from: LAN, headers: [bearer(ADMIN)], guard: none })).status).toBe(401)
  })
})

test('a session of the dashboard is no key: its cookie opens nothing here', async () => {
  const headers = ['Cookie: flotilla_session=fls_abc', 'X-Flotilla-Dashboard: 1', 'Sec-Fetch-Site: same-origin']
  expect((await ask({ from: LAN, headers })).status).toBe(401)
  expect((await ask({ headers, guard: deps({ localInference: false }) })).status).toBe(401)
})

describe('text that is no key of ours is as good as no key', () => {
  test.each([
    ['what clients insist on', 'not-needed'],
    ['the hash of a key', hashSecret('fk_plain')],
    ['the hash of the admin key', hashSecret(ADMIN)],
    ['the id of a key that has another text', 'admin'],
    ['the name of a field of every object', '__proto__'],
  ])('%s', async (_, text) => {
    expect((await ask({ headers: [bearer(text)] })).body).toEqual({ keyId: null, models: null })
    const abroad = await ask({ from: LAN, headers: [bearer(text)] })
    expect([abroad.status, abroad.message]).toEqual([401, expect.stringContaining('not known')])
    const rebound = await ask({ host: 'evil.example', headers: [bearer(text)] })
    expect(rebound.status).toBe(401)
  })
})

describe('a key that is shown and no good is refused, on this machine too', () => {
  test.each<[string, string[], number, string]>([
    ['an unknown key', [bearer('fk_unknown')], 401, 'not known'],
    ['a key that was revoked, which no table holds', [bearer('fk_revoked')], 401, 'revoked'],
    ['a key that has expired', [bearer('fk_ended')], 401, 'has expired'],
    ['a key without a scope for it', [bearer('fk_useless')], 403, 'not for inference'],
    ['the beginning of a key', [bearer('fk_plai')], 401, 'not known'],
    ['a key and more', [bearer('fk_plainx')], 401, 'not known'],
    ['a key in other letters', [bearer('FK_PLAIN')], 401, 'not known'],
    ['an unknown key in x-api-key', ['x-api-key: fk_unknown'], 401, 'not known'],
    ['two Authorization headers', [bearer('fk_plain'), bearer('fk_unknown')], 400, 'more than once'],
    ['the same Authorization twice', [bearer('fk_plain'), `AUTHORIZATION: Bearer fk_plain`], 400, 'more than once'],
    ['two x-api-key headers', ['x-api-key: fk_plain', 'X-API-KEY: fk_plain'], 400, 'more than once'],
    ['different keys in both headers', [bearer('fk_plain'), 'x-api-key: fk_boss'], 400, 'different keys'],
    ['another scheme', ['Authorization: Basic Zms6cGxhaW4='], 401, 'must be: Bearer'],
    ['no scheme', ['Authorization: fk_plain'], 401, 'must be: Bearer'],
    ['two keys in one header', [bearer('fk_plain, Bearer fk_boss')], 401, 'must be: Bearer'],
    ['a tab in between', ['Authorization: Bearer\tfk_plain'], 401, 'must be: Bearer'],
    ['a no-break space in between', ['Authorization: Bearer\u00a0fk_plain'], 401, 'must be: Bearer'],
    ['letters beyond ASCII', [bearer('fk_gr\u00f6\u00dfe')], 401, 'must be: Bearer'],
    ['letters beyond ASCII in x-api-key', ['x-api-key: fk_gr\u00f6\u00dfe'], 401, 'a key and nothing else'],
    ['an x-api-key with two words', ['x-api-key: Bearer fk_plain'], 401, 'a key and nothing else'],
    ['an endless key', [bearer('k'.repeat(501))], 401, 'must be: Bearer'],
  ])('%s', async (_, headers, status, message) => {
    for (const from of ['127.0.0.1', LAN]) {
      const answer = await ask({ from, headers })
      expect([answer.status, answer.message]).toEqual([status, expect.stringContaining(message)])
      expect(answer.answer).not.toMatch(/fk_|Zms6|[0-9a-f]{64}/)
    }
  })

  test.each([
    ['?api_key=fk_plain'],
    ['?a=1&API-KEY=x'],
    ['?x=fk_plain'],
    ['?x=fla_admin'],
    ['?%6bey=abc'],
    ['?access_token=abc'],
  ])('a key in the URL: %s', async (query) => {
    for (const headers of [[], [bearer('fk_plain')]]) {
      const { status, message, answer } = await ask({ path: `/v1/x${query}`, headers })
      expect([status, message]).toEqual([400, expect.stringContaining('Authorization: Bearer')])
      expect(answer).not.toMatch(/fk_|abc/)
    }
  })

  test('other parameters are nobody’s business', async () => {
    expect((await ask({ path: '/v1/x?limit=5&after=%E0%A4%A&monkey=1&?' })).status).toBe(200)
  })
})

describe('before the first table', () => {
  const early = deps({ known: [], keys: { hasSnapshot: () => false, keyByHash: () => undefined } })

  test('a key cannot be told right from wrong, so it is asked for again', async () => {
    const { status, answer, message } = await ask({ from: LAN, headers: [bearer('fk_plain')], guard: early })
    expect(status).toBe(503)
    expect(answer.toLowerCase()).toContain('retry-after: 1\r\n')
    expect(message).toContain('not yet received')
  })

  test('the admin key is known, and a request without a key is judged as usual', async () => {
    expect((await ask({ from: LAN, headers: [bearer(ADMIN)], guard: early })).status).toBe(200)
    expect((await ask({ guard: early })).status).toBe(200)
    expect((await ask({ from: LAN, guard: early })).status).toBe(401)
  })
})

describe('without a key', () => {
  test.each<[string, Asked]>([
    ['by address', {}],
    ['by IPv6', { from: '::1', host: '[::1]:8080' }],
    ['by an address that was mapped', { from: '::ffff:127.0.0.1' }],
    ['by name', { host: 'localhost' }],
    ['from a page of this listener', { headers: ['Origin: http://127.0.0.1:8080'] }],
    [
      'as a browser does for such a page',
      { headers: ['Origin: http://127.0.0.1:8080', 'Sec-Fetch-Site: same-origin'] },
    ],
    ['as a browser does for a typed address', { headers: ['Sec-Fetch-Site: none'] }],
    ['with an empty bearer', { headers: ['Authorization: Bearer '] }],
    ['with an empty x-api-key', { headers: ['x-api-key:'] }],
  ])('a program on this machine may ask: %s', async (_, asked) => {
    const { status, body } = await ask(asked)
    expect({ status, body }).toEqual({ status: 200, body: { keyId: null, models: null } })
  })

  test.each<[string, Asked, string]>([
    ['another machine', { from: LAN, host: '127.0.0.1:8080' }, 'another machine'],
    ['another machine by IPv6', { from: 'fe80::1', host: '[::1]' }, 'another machine'],
    ['nobody knows where', { from: '' }, 'another machine'],
    ['a host name that was pointed here (DNS rebinding)', { host: 'evil.example:8080' }, 'name this machine'],
    ['a host name that begins like ours', { host: 'localhost.evil.example' }, 'name this machine'],
    ['a host name that ends like ours', { host: 'evil.localhost' }, 'name this machine'],
    ['a host name that looks like an address', { host: '127.0.0.1.evil.example' }, 'name this machine'],
    ['a host with a name before it', { host: 'localhost@evil.example' }, 'name this machine'],
    ['a host of nothing', { host: '' }, 'name this machine'],
    ['two hosts', { headers: ['Host: evil.example'] }, 'name this machine'],
    ['a page of another site', { headers: ['Origin: https://evil.example'] }, 'web page from elsewhere'],
    ['a page without an origin of its own', { headers: ['Origin: null'] }, 'web page from elsewhere'],
    [
      'a page of another port of this machine',
      { headers: ['Origin: http://127.0.0.1:3000'] },
      'web page from elsewhere',
    ],
    [
      'a page of another name of this machine',
      { headers: ['Origin: http://localhost:8080'] },
      'web page from elsewhere',
    ],
    ['a picture in a page of another site', { headers: ['Sec-Fetch-Site: cross-site'] }, 'web page from elsewhere'],
    ['a script in a page of another port', { headers: ['Sec-Fetch-Site: same-site'] }, 'web page from elsewhere'],
    ['two origins', { headers: ['Origin: http://localhost', 'Origin: https://evil.example'] }, 'web page'],
    ['a reverse proxy on this machine', { headers: ['X-Forwarded-For: 127.0.0.1'] }, 'through a proxy'],
    ['one that speaks the standard', { headers: ['Forwarded: for=1.2.3.4'] }, 'through a proxy'],
    ['one that names the client', { headers: ['X-Real-IP: 1.2.3.4'] }, 'through a proxy'],
    ['one that names itself', { headers: ['Via: 1.1 cache'] }, 'through a proxy'],
  ])('not %s', async (_, asked, message) => {
    const answer = await ask(asked)
    expect(answer.status).toBe(401)
    expect(answer.message).toContain(message)
    expect(answer.message).toContain('flotilla keys create')
    expect(answer.answer.toLowerCase()).toContain('www-authenticate: bearer')
  })
})

describe('with local inference off, a program on this machine needs a key as others do', () => {
  const off = deps({ localInference: false })

  test.each<[string, Asked]>([
    ['as the default lines of nginx send it for a client elsewhere', {}],
    ['with text that is no key of ours', { headers: [bearer('not-needed')] }],
  ])('%s', async (_, asked) => {
    const { status, message } = await ask({ ...asked, guard: off })
    expect(status).toBe(401)
    expect(message).not.toContain('same machine may also ask')
    if (asked.headers === undefined) expect(message).toContain('--local-inference off')
  })

  test('a key opens, and figures need one too', async () => {
    expect((await ask({ guard: off, headers: [bearer('fk_plain')] })).status).toBe(200)
    const request = { socket: { remoteAddress: '127.0.0.1' }, headers: { host: 'localhost' }, url: '/', rawHeaders: [] }
    expect(outcomeOf(() => allowMetrics(request as never, off))).toContain('needs a key')
    expect(outcomeOf(() => allowMetrics(request as never, deps()))).toBe('let in')
  })

  test('the shortcut knows it as well', () => {
    const shown = { key: undefined, refusal: undefined }
    expect([callerOf(shown, true, deps()), callerOf(shown, true, off)]).toEqual([
      { keyId: null, models: null },
      undefined,
    ])
  })
})

test('whatever is shown, only a key that is known opens, and the answer never repeats it', () => {
  const right = newSecret('fk')
  const guard = deps({ known: [aKey(right, { id: 'k' })] })
  const shown = fc.oneof(
    fc.string({ unit: fc.integer({ min: 32, max: 255 }).map((code) => String.fromCharCode(code)) }),
    fc.constantFrom(right, ` ${right}`, right.slice(1), `${right}=`, right.toUpperCase()),
  )
  fc.assert(
    fc.property(shown, fc.constantFrom('Bearer ', 'bearer  ', 'Basic ', ''), (key, scheme) => {
      const value = `${scheme}${key}`
      const request = { socket: { remoteAddress: LAN }, headers: { authorization: value }, url: '/v1/x' }
      const outcome = outcomeOf(() =>
        allowInference({ ...request, rawHeaders: ['authorization', value] } as never, guard),
      )
      const isRight = /^bearer $/i.test(scheme.trimEnd() + ' ') && key.trim() === right
      expect(outcome === 'let in').toBe(isRight)
      if (key.trim().length > 20) expect(outcome).not.toContain(key.trim())
    }),
  )
})

test('a client that sends one wrong key after another is told to wait, and a right key works all the same', () => {
  const guard = deps({ wrongKeys: new WrongKeys({ nowMs: () => NOW_MS }) })
  const show = (key: string, from = LAN): string => {
    const headers = { authorization: `Bearer ${key}` }
    const request = { socket: { remoteAddress: from }, headers, url: '/v1/x', rawHeaders: [] }
    return outcomeOf(() => allowInference(request as never, guard))
  }
  for (let i = 0; i < 20; i += 1) expect(show(`fk_${i}`)).toContain('This key is not known')
  expect(show('fk_x')).toContain('Too many wrong keys')
  expect(show('something')).toContain('Too many wrong keys')
  for (const right of ['fk_plain', 'fk_boss', ADMIN]) expect(show(right)).toBe('let in')
  expect(show('fk_x', '10.0.0.8')).toContain('This key is not known')
})

function outcomeOf(call: () => unknown): string {
  try {
    call()
    return 'let in'
  } catch (error) {
    return String(error)
  }
}
