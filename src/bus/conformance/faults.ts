import { expect, test } from 'vitest'
import { CLOSED } from './raw-client.ts'
import { aSubject, openNats, openRaw, ownServer, sharedServer, within, type StartServer } from './scene.ts'

/** When things break. */
export function faultCases(start: StartServer): void {
  const server = sharedServer(start)

  test('a client comes back by itself when the server restarts, with its subscriptions', async () => {
    const first = await start({ port: 0 })
    const { port } = first
    const client = await openNats(first, { reconnect: true, maxReconnectAttempts: -1, reconnectTimeWait: 20 })
    const heard: string[] = []
    client.subscribe('news.>', { callback: (_, message) => void heard.push(message.string()) })
    await client.flush()
    const reconnected = new Promise<void>((resolve) => {
      void (async () => {
        for await (const status of client.status()) if (status.type === 'reconnect') resolve()
      })()
    })
    await first.stop()
    const second = await ownServer(start, { port })
    await within('the reconnection', reconnected)
    const publisher = await openNats(second)
    await client.flush()
    publisher.publish('news.today', 'we are back')
    await publisher.flush()
    await client.flush()
    expect(heard).toEqual(['we are back'])
  })

  test('a client that dies in the middle of a message harms no other', async () => {
    const subject = aSubject()
    const [dies, lives] = [await openRaw(server()), await openRaw(server())]
    await lives.say(`SUB ${subject} 1\r\n`)
    await dies.say(`SUB ${subject} 1\r\n`)
    dies.send(`PUB ${subject} 100\r\nnot a hundred bytes`)
    dies.close()
    expect(await lives.say(`PUB ${subject} 2\r\nok\r\n`)).toBe(`MSG ${subject} 1 2\r\nok\r\n`)
  })

  test('garbage from one client does not touch another', async () => {
    const subject = aSubject()
    const good = await openRaw(server())
    await good.say(`SUB ${subject} 1\r\n`)
    for (let seed = 1; seed <= 20; seed += 1) {
      const bad = await openRaw(server())
      bad.send(noise(seed, 5_000))
      bad.send('\r\n\r\n')
      expect(await bad.untilClosed()).toContain(CLOSED)
    }
    expect(await good.say(`PUB ${subject} 2\r\nok\r\n`)).toBe(`MSG ${subject} 1 2\r\nok\r\n`)
  })

  test('what was published before a client was cut off still arrives', async () => {
    const subject = aSubject()
    const [bad, good] = [await openRaw(server()), await openRaw(server())]
    await good.say(`SUB ${subject} 1\r\n`)
    expect(await bad.say(`PUB ${subject} 1\r\nx\r\nNONSENSE\r\nPUB ${subject} 1\r\ny\r\n`)).toBe(
      `-ERR 'Unknown Protocol Operation'\r\n${CLOSED}`,
    )
    expect(await good.say('')).toBe(`MSG ${subject} 1 1\r\nx\r\n`)
  })
}

/** The same bytes for the same seed: a failure can be repeated. */
function noise(seed: number, length: number): string {
  let state = seed
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return String.fromCharCode(state >>> 24)
  }).join('')
}
