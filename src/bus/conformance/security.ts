import { AuthorizationError, PermissionViolationError, type NatsConnection } from '@nats-io/transport-node'
import { expect, test } from 'vitest'
import { aCertificate, aUser, type TestUser } from './credentials.ts'
import { CLOSED, connectLine, type RawClient } from './raw-client.ts'
import { openNats, openRaw, ownServer, within, type StartServer, type TestServer } from './scene.ts'

/** Authentication and permissions. */
export function securityCases(start: StartServer): void {
  test('a user that signs the nonce gets in', async () => {
    const user = aUser()
    const server = await ownServer(start, { users: [user] })
    const raw = await openRaw(server, { connect: false })
    expect(raw.info).toMatchObject({ auth_required: true, nonce: expect.stringMatching(/^[\w-]{11,}$/) })
    expect(await raw.say(connectLine(user.sign(raw.info)))).toBe('')
    const client = await openNats(server, { authenticator: user.authenticator })
    await expect(within('the flush', client.flush())).resolves.toBeUndefined()
  })

  test('nonces are never the same', async () => {
    const server = await ownServer(start, { users: [aUser()] })
    const raws = await Promise.all(Array.from({ length: 10 }, () => openRaw(server, { connect: false })))
    expect(new Set(raws.map((raw) => raw.info['nonce'])).size).toBe(10)
  })

  test('no other client does', async () => {
    const [user, stranger] = [aUser(), aUser()]
    const server = await ownServer(start, { users: [user] })
    const refused = `-ERR 'Authorization Violation'\r\n${CLOSED}`
    const attempts: Record<string, (info: Record<string, unknown>) => string> = {
      'no credentials': () => connectLine(),
      'a name and a password': () => connectLine({ user: 'a', pass: 'b' }),
      'an unknown key': (info) => connectLine(stranger.sign(info)),
      "a known key with another's signature": (info) => connectLine({ ...stranger.sign(info), nkey: user.publicKey }),
      'a signature of another nonce': () => connectLine(user.sign({ nonce: 'AAAAAAAAAAAAAAA' })),
      'no signature': () => connectLine({ nkey: user.publicKey }),
      'a signature that is none': () => connectLine({ nkey: user.publicKey, sig: '%%%' }),
      'a key that is none': (info) => connectLine({ ...user.sign(info), nkey: 'UAAA' }),
      'PING first': () => 'PING\r\n',
      'PUB first': () => 'PUB a 1\r\nx\r\n',
      'SUB first': () => 'SUB a 1\r\n',
      garbage: () => '\x16\x03\x01',
    }
    for (const [name, attempt] of Object.entries(attempts)) {
      const raw = await openRaw(server, { connect: false })
      raw.send(attempt(raw.info))
      expect(await raw.untilClosed(), name).toBe(refused)
    }
    await expect(openNats(server, { authenticator: stranger.authenticator })).rejects.toThrow(AuthorizationError)
    await expect(openNats(server)).rejects.toThrow(/authorization violation/i)
  })

  test('a silent client is cut off in time', async () => {
    const server = await ownServer(start, { users: [aUser()], limits: { authTimeoutMs: 200 } })
    const raw = await openRaw(server, { connect: false })
    expect(await raw.untilClosed()).toBe(`-ERR 'Authentication Timeout'\r\n${CLOSED}`)
  })

  test('publishing is limited to what is allowed', async () => {
    const [limited, all] = [aUser({ publish: ['a.>', 'b.*', 'c'], subscribe: ['>'] }), aUser()]
    const server = await ownServer(start, { users: [limited, all] })
    const raw = await enter(server, limited)
    const watcher = await enter(server, all)
    await watcher.say('SUB > 1\r\n')
    const allowed = ['a.x', 'a.x.y', 'b.x', 'c']
    const denied = ['a', 'b', 'b.x.y', 'c.d', 'd', '_INBOX.x', 'aa.x']
    for (const subject of allowed) expect(await raw.say(`PUB ${subject} 1\r\nx\r\n`), subject).toBe('')
    for (const subject of denied) {
      expect(await raw.say(`PUB ${subject} re.ply 1\r\nx\r\n`), subject).toBe(
        `-ERR 'Permissions Violation for Publish to "${subject}"'\r\n`,
      )
    }
    expect(await watcher.say('')).toBe(allowed.map((subject) => `MSG ${subject} 1 1\r\nx\r\n`).join(''))
  })

  test('subscribing is limited to what is allowed', async () => {
    const user = aUser({ subscribe: ['a.>', 'b.*', 'c'] })
    const server = await ownServer(start, { users: [user] })
    const raw = await enter(server, user)
    for (const subject of ['a.x', 'a.>', 'a.*', 'a.*.c', 'a.x.>', 'b.x', 'b.*', 'c']) {
      expect(await raw.say(`SUB ${subject} ${subject}\r\n`), subject).toBe('')
    }
    for (const subject of ['>', '*', '*.*', '*.x', 'a', 'b', 'b.x.y', 'c.*', 'c.>', 'd', '*.>']) {
      expect(await raw.say(`SUB ${subject} ${subject}\r\n`), subject).toBe(
        `-ERR 'Permissions Violation for Subscription to "${subject}"'\r\n`,
      )
    }
    expect(await raw.say('SUB d workers 1\r\n')).toBe(
      `-ERR 'Permissions Violation for Subscription to "d" using queue "workers"'\r\n`,
    )
    // A refused client hears nothing.
    expect(await raw.say('PUB d 1\r\nx\r\nPUB b.x.y 1\r\nx\r\n')).toBe('')
  })

  test('a user without any permission neither publishes nor hears', async () => {
    const user = aUser({ publish: [], subscribe: [] })
    const server = await ownServer(start, { users: [user] })
    const raw = await enter(server, user)
    expect(await raw.say('PUB a 1\r\nx\r\nSUB a 1\r\n')).toBe(
      `-ERR 'Permissions Violation for Publish to "a"'\r\n-ERR 'Permissions Violation for Subscription to "a"'\r\n`,
    )
  })

  test('a refused operation is not acknowledged', async () => {
    const user = aUser({ publish: ['a'], subscribe: ['a'] })
    const server = await ownServer(start, { users: [user] })
    const raw = await enter(server, user, { verbose: true })
    expect(await raw.say('PUB b 1\r\nx\r\n')).toBe(`+OK\r\n-ERR 'Permissions Violation for Publish to "b"'\r\n`)
  })

  test('nats.js hears of violations and stays connected', async () => {
    const user = aUser({ publish: ['a'], subscribe: ['a'] })
    const server = await ownServer(start, { users: [user] })
    const client = await openNats(server, { authenticator: user.authenticator })
    const told = new Promise<Error | null>((resolve) => {
      client.subscribe('secret', { callback: (error) => resolve(error) })
    })
    expect(await within('the violation', told)).toBeInstanceOf(PermissionViolationError)
    await expect(within('the flush', client.flush())).resolves.toBeUndefined()
  })

  test('a user may answer a request that reached it, once, and no other', async () => {
    const asker = aUser()
    const worker = aUser({ publish: ['events'], subscribe: ['work'], respond: true })
    const server = await ownServer(start, { users: [asker, worker] })
    const [asks, works] = [await enter(server, asker), await enter(server, worker)]
    const violation = (subject: string): string => `-ERR 'Permissions Violation for Publish to "${subject}"'\r\n`
    await works.say('SUB work 1\r\n')
    await asks.say('SUB inbox.* 1\r\n')

    expect(await works.say('PUB inbox.1 5\r\nearly\r\n')).toBe(violation('inbox.1'))
    await asks.say('PUB work inbox.1 1\r\n?\r\n')
    expect(await works.say('')).toBe('MSG work 1 inbox.1 1\r\n?\r\n')
    expect(await works.say('PUB inbox.2 5\r\nother\r\n')).toBe(violation('inbox.2'))
    expect(await works.say('PUB inbox.1 5\r\nright\r\n')).toBe('')
    expect(await works.say('PUB inbox.1 5\r\nagain\r\n')).toBe(violation('inbox.1'))
    expect(await asks.say('')).toBe('MSG inbox.1 1 5\r\nright\r\n')

    // Asked twice with one reply subject, it still answers once.
    await asks.say('PUB work inbox.3 1\r\n?\r\nPUB work inbox.3 1\r\n?\r\n')
    expect(await works.say('PUB inbox.3 1\r\n1\r\nPUB inbox.3 1\r\n2\r\n')).toBe(
      `MSG work 1 inbox.3 1\r\n?\r\nMSG work 1 inbox.3 1\r\n?\r\n${violation('inbox.3')}`,
    )
  })

  test('without that permission it may not', async () => {
    const [asker, worker] = [aUser(), aUser({ publish: ['events'], subscribe: ['work'] })]
    const server = await ownServer(start, { users: [asker, worker] })
    const [asks, works] = [await enter(server, asker), await enter(server, worker)]
    await works.say('SUB work 1\r\n')
    await asks.say('PUB work inbox.1 1\r\n?\r\n')
    expect(await works.say('PUB inbox.1 1\r\nx\r\n')).toBe(
      `MSG work 1 inbox.1 1\r\n?\r\n-ERR 'Permissions Violation for Publish to "inbox.1"'\r\n`,
    )
  })

  test('with inboxes of their own, no client reads or forges the replies of another', async () => {
    const service = aUser({ publish: [], subscribe: ['ask'], respond: true })
    const alice = aUser({ publish: ['ask'], subscribe: ['_INBOX.alice.>'] })
    const mallory = aUser({ publish: ['ask'], subscribe: ['_INBOX.mallory.>'] })
    const server = await ownServer(start, { users: [service, alice, mallory] })
    const serves = await openNats(server, { authenticator: service.authenticator })
    serves.subscribe('ask', { callback: (_, message) => void message.respond(`re: ${message.string()}`) })
    await serves.flush()

    const spy = await enter(server, mallory)
    for (const pattern of ['_INBOX.alice.>', '_INBOX.>', '_INBOX.*.*', '>', '*.alice.*']) {
      expect(await spy.say(`SUB ${pattern} 1\r\n`), pattern).toMatch(/^-ERR 'Permissions Violation for Subscription/)
    }
    expect(await spy.say('PUB _INBOX.alice.x 4\r\nfake\r\n')).toMatch(/^-ERR 'Permissions Violation for Publish/)

    const ask = (client: NatsConnection): Promise<string> =>
      client.request('ask', 'me', { timeout: 10_000 }).then((answer) => answer.string())
    const [a, m] = [
      await openNats(server, { authenticator: alice.authenticator, inboxPrefix: '_INBOX.alice' }),
      await openNats(server, { authenticator: mallory.authenticator, inboxPrefix: '_INBOX.mallory' }),
    ]
    expect(await Promise.all([ask(a), ask(m)])).toEqual(['re: me', 're: me'])
    expect(await spy.say('')).toBe('')
  })

  test('TLS: greets in plain text, then talks to clients that trust the certificate', async () => {
    const tls = await aCertificate()
    const user = aUser()
    const server = await ownServer(start, { tls, users: [user] })
    const { info } = await openRaw(server, { connect: false })
    expect(info).toMatchObject({ tls_required: true })
    const client = await openNats(server, { authenticator: user.authenticator, tls: { ca: tls.cert } })
    client.subscribe('ask', { callback: (_, message) => void message.respond(message.data) })
    const large = Buffer.alloc(500_000, 'large ')
    const answer = await client.request('ask', large, { timeout: 10_000 })
    expect(large.equals(answer.data)).toBe(true)
    await expect(openNats(server, { authenticator: user.authenticator })).rejects.toThrow(/self-signed/)
  })

  test('TLS: takes no plain text', async () => {
    const server = await ownServer(start, { tls: await aCertificate() })
    const raw = await openRaw(server, { connect: false })
    raw.send(connectLine())
    raw.send('PING\r\n')
    expect(await raw.untilClosed()).not.toContain('PONG')
  })

  test('TLS: asks for a client certificate when told whose to trust', async () => {
    const [tls, trusted, other] = [await aCertificate(), await aCertificate(), await aCertificate()]
    const server = await ownServer(start, { tls: { ...tls, ca: trusted.cert } })
    const attempt = async (mine: { key?: string; cert?: string }): Promise<'in' | 'out'> => {
      // Which error a client sees depends on how far it got before it was cut off.
      const client = await openNats(server, { tls: { ca: tls.cert, ...mine }, timeout: 5_000 }).catch(() => undefined)
      if (!client) return 'out'
      await within('the flush', client.flush())
      return 'in'
    }
    expect([await attempt(trusted), await attempt(other), await attempt({})]).toEqual(['in', 'out', 'out'])
  })
}

async function enter(server: TestServer, user: TestUser, options: Record<string, unknown> = {}): Promise<RawClient> {
  const raw = await openRaw(server, { connect: false })
  raw.send(connectLine({ ...options, ...user.sign(raw.info) }))
  return raw
}
