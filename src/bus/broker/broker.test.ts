import { connect as connectSocket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { aCertificate, aUser, type TestUser } from '../conformance/credentials.ts'
import { CLOSED, connectLine, type RawClient } from '../conformance/raw-client.ts'
import { openNats, openRaw, within } from '../conformance/scene.ts'
import { startBroker, type Broker, type BrokerEvent, type BrokerOptions } from './broker.ts'

interface Watched {
  broker: Broker & { stop(): Promise<void> }
  events: BrokerEvent[]
  /** Resolves with the first event of the kind, past or to come. */
  event: (kind: BrokerEvent['kind']) => Promise<BrokerEvent>
}

async function start(options: Partial<BrokerOptions> = {}): Promise<Watched> {
  const events: BrokerEvent[] = []
  let look = (): void => {}
  const onEvent = (event: BrokerEvent): void => {
    events.push(event)
    look()
  }
  const broker = await startBroker({ host: '127.0.0.1', port: 0, onEvent, ...options })
  onTestFinished(() => broker.dispose())
  const event = (kind: BrokerEvent['kind']): Promise<BrokerEvent> =>
    within(
      `the event ${kind}`,
      new Promise((resolve) => {
        look = () => {
          const found = events.find((one) => one.kind === kind)
          if (found) resolve(found)
        }
        look()
      }),
    )
  return { broker: { ...broker, stop: () => broker.dispose() }, events, event }
}

async function enter(broker: Watched['broker'], user: TestUser): Promise<RawClient> {
  const raw = await openRaw(broker, { connect: false })
  expect(await raw.say(connectLine({ ...user.sign(raw.info), name: 'a test' }))).toBe('')
  return raw
}

test('a user added later gets in; removed, it is thrown out and stays out', async () => {
  const { broker } = await start({ users: [] })
  const user = aUser()
  const early = await openRaw(broker, { connect: false })
  early.send(connectLine(user.sign(early.info)))
  expect(await early.untilClosed()).toBe(`-ERR 'Authorization Violation'\r\n${CLOSED}`)
  broker.setUser(user.publicKey, user.permissions)
  const raw = await enter(broker, user)
  broker.removeUser(user.publicKey)
  expect(await raw.untilClosed()).toBe(`-ERR 'Authorization Violation'\r\n${CLOSED}`)
  const late = await openRaw(broker, { connect: false })
  late.send(connectLine(user.sign(late.info)))
  expect(await late.untilClosed()).toContain(CLOSED)
})

test('changed permissions hold at once, for live subscriptions too', async () => {
  const [user, other] = [aUser({ publish: ['a', 'b'], subscribe: ['a', 'b'] }), aUser()]
  const { broker } = await start({ users: [user, other] })
  const [raw, publisher] = [await enter(broker, user), await enter(broker, other)]
  expect(await raw.say('SUB a 1\r\nSUB b 2\r\n')).toBe('')
  broker.setUser(user.publicKey, { publish: ['c'], subscribe: ['b'], respond: false })
  expect(await raw.say('')).toBe(`-ERR 'Permissions Violation for Subscription to "a" (sid "1")'\r\n`)
  await publisher.say('PUB a 1\r\nx\r\nPUB b 1\r\ny\r\n')
  expect(await raw.say('PUB a 1\r\nx\r\nPUB c 1\r\nx\r\n')).toBe(
    `MSG b 2 1\r\ny\r\n-ERR 'Permissions Violation for Publish to "a"'\r\n`,
  )
})

test('a second CONNECT cannot change the user', async () => {
  const [weak, strong] = [aUser({ publish: ['a'], subscribe: ['a'] }), aUser()]
  const { broker } = await start({ users: [weak, strong] })
  const raw = await enter(broker, weak)
  expect(await raw.say(`${connectLine(strong.sign(raw.info))}SUB secret 1\r\n`)).toBe(
    `-ERR 'Permissions Violation for Subscription to "secret"'\r\n`,
  )
})

test('a wildcard wider than the permission is refused, unlike in nats-server 2.9', async () => {
  const user = aUser({ subscribe: ['b.*'] })
  const { broker } = await start({ users: [user] })
  const raw = await enter(broker, user)
  expect(await raw.say('SUB b.> 1\r\n')).toBe(`-ERR 'Permissions Violation for Subscription to "b.>"'\r\n`)
})

test('the permission to answer a request expires', async () => {
  const clock = new VirtualClock()
  const [asker, worker] = [aUser(), aUser({ publish: [], subscribe: ['work'], respond: true })]
  const { broker } = await start({ users: [asker, worker], clock })
  const [asks, works] = [await enter(broker, asker), await enter(broker, worker)]
  await works.say('SUB work 1\r\n')
  await asks.say('PUB work inbox.1 1\r\n?\r\nPUB work inbox.2 1\r\n?\r\n')
  await works.say('')
  await clock.advance(119_000)
  expect(await works.say('PUB inbox.1 1\r\nx\r\n')).toBe('')
  await clock.advance(1_000)
  expect(await works.say('PUB inbox.2 1\r\nx\r\n')).toMatch(/Permissions Violation/)
})

test('a silent connection is asked twice, then ended; hours later a live one is still there', async () => {
  const clock = new VirtualClock()
  const { broker, event } = await start({ clock })
  const silent = await openRaw(broker, { silent: true })
  expect(await silent.say('')).toBe('')
  await clock.advance(60_000)
  expect(await silent.until('PING\r\n')).toBe('PING\r\n')
  await clock.advance(30_000)
  expect(await silent.until('PING\r\n')).toBe('PING\r\n')
  const live = await openRaw(broker)
  expect(await live.say('')).toBe('')
  await clock.advance(30_000)
  expect(await silent.untilClosed()).toBe(`-ERR 'Stale Connection'\r\n${CLOSED}`)
  expect(await event('disconnected')).toMatchObject({ reason: 'stale' })
  for (let i = 0; i < 500; i += 1) {
    await clock.advance(29_000)
    expect(await live.say('')).toBe('')
  }
})

test('credentials must come in time', async () => {
  const clock = new VirtualClock()
  const { broker, event } = await start({ users: [], clock })
  const raw = await openRaw(broker, { connect: false })
  await clock.advance(2_000)
  expect(await raw.untilClosed()).toBe(`-ERR 'Authentication Timeout'\r\n${CLOSED}`)
  expect(await event('disconnected')).toMatchObject({ reason: 'authentication timeout' })
})

test('reports clients that came, what they tried and why they left, without secrets', async () => {
  const user = aUser({ publish: ['a'] })
  const { broker, events, event } = await start({ users: [user] })
  const raw = await enter(broker, user)
  for (let i = 0; i < 100; i += 1) raw.send('PUB secret.subject 7\r\npayload\r\n')
  await raw.say('')
  raw.close()
  const peer = { clientId: 1, address: '127.0.0.1', user: user.publicKey, name: 'a test' }
  expect(await event('disconnected')).toEqual({ kind: 'disconnected', peer, reason: 'client closed' })
  // A hundred violations at once are one line in the log.
  expect(events.map(({ kind }) => kind)).toEqual(['connected', 'permission violation', 'disconnected'])
  expect(events[1]).toEqual({
    kind: 'permission violation',
    peer,
    action: 'publish',
    subject: 'secret.subject',
    unreported: 0,
  })
  const stranger = await openRaw(broker, { connect: false })
  const credentials = aUser().sign(stranger.info)
  stranger.send(connectLine(credentials))
  await stranger.untilClosed()
  expect(await event('auth failure')).toMatchObject({ detail: 'unknown user key or wrong signature' })
  const told = JSON.stringify(events)
  for (const secret of [credentials.sig, String(stranger.info['nonce']), 'payload']) expect(told).not.toContain(secret)
})

test('reports a slow consumer', async () => {
  const { broker, event } = await start({ limits: { maxPendingBytes: 100_000 } })
  const [slow, publisher] = [await openRaw(broker), await openRaw(broker)]
  await slow.say('SUB a 1\r\n')
  slow.pause()
  const message = `PUB a 60000\r\n${'x'.repeat(60_000)}\r\n`
  for (let i = 0; i < 300; i += 1) await publisher.say(message)
  expect(await event('slow consumer')).toMatchObject({ peer: { clientId: 1 } })
  expect(await event('disconnected')).toMatchObject({ peer: { clientId: 1 }, reason: 'slow consumer' })
})

test('a client that gets an error and does not close is closed', async () => {
  const clock = new VirtualClock()
  const { broker, event } = await start({ clock })
  const socket = connectSocket({ host: broker.host, port: broker.port, allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.resume()
  const told = new Promise<void>((resolve) => socket.once('end', resolve))
  socket.write('NONSENSE\r\n')
  await within('the end', told)
  await clock.advance(1_000)
  expect(await event('disconnected')).toMatchObject({
    reason: 'protocol error',
    detail: 'Unknown Protocol Operation',
  })
})

test('a failed TLS handshake is reported and frees its place', async () => {
  const tls = await aCertificate()
  const { broker, event } = await start({ tls, limits: { maxConnections: 1 } })
  const raw = await openRaw(broker, { connect: false })
  raw.send('not a handshake\r\n')
  await raw.untilClosed()
  expect(await event('disconnected')).toMatchObject({ reason: 'tls handshake failed' })
  const client = await openNats(broker, { tls: { ca: tls.cert } })
  await expect(within('the flush', client.flush())).resolves.toBeUndefined()
})

test('stopping cuts everybody off, those in a TLS handshake too, and frees the port', async () => {
  const { broker, events } = await start({ tls: await aCertificate() })
  const plain = await start()
  const raws = [await openRaw(broker, { connect: false }), await openRaw(plain.broker), await openRaw(plain.broker)]
  expect(await raws[1]!.say('')).toBe('')
  await within('the stop', Promise.all([broker.stop(), plain.broker.stop()]))
  for (const raw of raws) expect(await raw.untilClosed()).toBe(CLOSED)
  expect(plain.events.filter(({ kind }) => kind === 'disconnected')).toHaveLength(2)
  expect(events.every(({ kind }) => kind === 'disconnected')).toBe(true)
  const again = await start({ port: plain.broker.port })
  expect(again.broker.port).toBe(plain.broker.port)
})

test('a port in use is an error of the start', async () => {
  const { broker } = await start()
  await expect(startBroker({ host: '127.0.0.1', port: broker.port })).rejects.toThrow(/EADDRINUSE/)
})

test('an open broker has no users to set, and a bad key is refused', async () => {
  const open = await start()
  expect(() => open.broker.setUser(aUser().publicKey, aUser().permissions)).toThrow(/without users/)
  const closed = await start({ users: [] })
  expect(() => closed.broker.setUser('U123', aUser().permissions)).toThrow(/not a NATS user key/)
})
