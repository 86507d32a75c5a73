import { expect, test } from 'vitest'
import { CLOSED } from './raw-client.ts'
import { openNats, openRaw, ownServer, within, type StartServer } from './scene.ts'

/** What happens at the limits, and that one client's excess is its own affair. */
export function limitCases(start: StartServer): void {
  test('a payload may be as large as the limit and no larger', async () => {
    const server = await ownServer(start, { limits: { maxPayloadBytes: 1_000 } })
    const raw = await openRaw(server)
    expect(raw.info).toMatchObject({ max_payload: 1_000 })
    expect(await raw.say(`SUB a 1\r\nPUB a 1000\r\n${'x'.repeat(1_000)}\r\n`)).toContain('MSG a 1 1000\r\n')
    // The announcement alone is enough: the payload is not waited for.
    raw.send('PUB a 1001\r\n')
    expect(await raw.untilClosed()).toBe(`-ERR 'Maximum Payload Violation'\r\n${CLOSED}`)
  })

  test('headers count as payload', async () => {
    const server = await ownServer(start, { limits: { maxPayloadBytes: 1_000 } })
    const raw = await openRaw(server, { connect: { headers: true } })
    raw.send('HPUB a 12 1001\r\n')
    expect(await raw.untilClosed()).toBe(`-ERR 'Maximum Payload Violation'\r\n${CLOSED}`)
  })

  test.for([
    ['complete', `PUB ${'a'.repeat(300)} 1\r\n`],
    ['not complete', `PUB ${'a'.repeat(300)}`],
    ['of another kind', `SUB ${'a'.repeat(300)} 1\r\n`],
  ] as const)('a line that is too long ends the connection: %s', async ([, text]) => {
    const server = await ownServer(start, { limits: { maxControlLineBytes: 256 } })
    const raw = await openRaw(server)
    raw.send(text)
    expect(await raw.untilClosed()).toBe(`-ERR 'maximum control line exceeded'\r\n${CLOSED}`)
  })

  test('a subscription too many is refused, and the others stay', async () => {
    const server = await ownServer(start, { limits: { maxSubscriptions: 2 } })
    const raw = await openRaw(server)
    expect(await raw.say('SUB a 1\r\nSUB b 2\r\nSUB c 3\r\n')).toBe("-ERR 'maximum subscriptions exceeded'\r\n")
    expect(await raw.say('PUB a 1\r\nx\r\nPUB c 1\r\nx\r\n')).toBe('MSG a 1 1\r\nx\r\n')
    expect(await raw.say('UNSUB 1\r\nSUB c 3\r\nPUB c 1\r\nx\r\n')).toBe('MSG c 3 1\r\nx\r\n')
  })

  test('a connection too many is turned away, and has its place when another leaves', async () => {
    const server = await ownServer(start, { limits: { maxConnections: 2 } })
    const [first, second] = [await openRaw(server), await openRaw(server)]
    // nats-server counts a connection a moment after it has greeted it.
    expect([await first.say(''), await second.say('')]).toEqual(['', ''])
    const third = await openRaw(server, { connect: false })
    expect(await third.untilClosed()).toBe(`-ERR 'maximum connections exceeded'\r\n${CLOSED}`)
    expect(await second.say('')).toBe('')
    first.close()
    // The server may take a moment to see that it is gone.
    const admitted = async (): Promise<string> => {
      for (;;) {
        const raw = await openRaw(server)
        const answer = await raw.say('')
        if (!answer.endsWith(CLOSED)) return answer
      }
    }
    expect(await within('a free place', admitted())).toBe('')
  })

  test('a connection that shows no life is ended', async () => {
    const server = await ownServer(start, { limits: { pingIntervalMs: 100, maxPingsOut: 2 } })
    const raw = await openRaw(server, { silent: true })
    expect(await raw.untilClosed()).toBe(`PING\r\nPING\r\n-ERR 'Stale Connection'\r\n${CLOSED}`)
  })

  test('a connection that answers PING is not', async () => {
    // Without its answers it would be ended after the fourth; a busy machine has most of a second for each of them.
    const server = await ownServer(start, { limits: { pingIntervalMs: 200, maxPingsOut: 4 } })
    const raw = await openRaw(server, { silent: true })
    for (let i = 0; i < 6; i += 1) {
      expect(await raw.until('PING\r\n')).toBe('PING\r\n')
      raw.send('PONG\r\n')
    }
    expect(await raw.say('')).not.toContain(CLOSED)
  })

  test('a consumer that does not read is cut off; publisher and other consumers do not notice', async () => {
    const server = await ownServer(start, { limits: { maxPayloadBytes: 65_536, maxPendingBytes: 262_144 } })
    const [publisher, reader] = [await openNats(server), await openNats(server)]
    const slow = await openRaw(server)
    await slow.say('SUB flood 1\r\n')
    slow.pause()
    let read = 0
    const subscription = reader.subscribe('flood', { callback: () => void (read += 1) })
    await reader.flush()

    // More than kernels keep for a socket on both of its sides, at a pace that a reader can keep up with.
    const payload = Buffer.alloc(65_000, 'x')
    const messages = 600
    for (let i = 0; i < messages; i += 1) {
      publisher.publish('flood', payload)
      if (i % 2 === 1) {
        await publisher.flush()
        await reader.flush()
      }
    }
    expect(read).toBe(messages)
    subscription.unsubscribe()

    slow.resume()
    const got = await slow.untilClosed()
    expect(got.length).toBeLessThan(messages * payload.length)
    await expect(within('the flush', publisher.flush())).resolves.toBeUndefined()
  })
}
