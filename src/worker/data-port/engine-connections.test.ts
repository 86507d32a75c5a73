import { expect, test, vi } from 'vitest'
import { replicaPath } from '../../api/data-port.ts'
import { aDataPort, rawEngine } from '../../../test/support/worker/data-port.ts'
import { rawClient } from '../../../test/support/http/raw-client.ts'
import { until } from '../../../test/support/until.ts'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const STREAM = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'
const HEAD = `POST ${replicaPath('r', 7)}/v1/x HTTP/1.1\r\nhost: a\r\nauthorization: Bearer right\r\ncontent-length: 2\r\n\r\n`

/** An engine that does with each request, by its number on its connection, as it is told; and who asks it. */
async function anEngine(onRequest: (nth: number, answer: (text: string) => void, hangUp: () => void) => void) {
  const seen = { connections: 0, requests: 0 }
  const port = await rawEngine((socket) => {
    seen.connections += 1
    let nth = 0
    socket.on('data', () => {
      seen.requests += 1
      nth += 1
      onRequest(
        nth,
        (text) => void socket.write(text),
        () => void socket.destroy(),
      )
    })
  })
  const { url, replica } = await aDataPort(port)
  const client = await rawClient(url)
  /** Sends a request in one piece, as gateways do. Resolves to the answers that there are when one more has come. */
  const ask = async (text = `${HEAD}{}`): Promise<string[]> => {
    const before = answersIn(client.text()).length
    client.send(text)
    await until(() => answersIn(client.text()).length > before)
    return answersIn(client.text())
  }
  return { ask, client, replica, seen }
}

function answersIn(text: string): string[] {
  return text.match(/HTTP\/1\.1 \d{3}/g) ?? []
}

test('a connection to an engine is used again after an answer whose length was told', async () => {
  const { ask, seen } = await anEngine((_, answer) => answer(OK))
  for (let i = 0; i < 5; i += 1) expect((await ask()).at(-1)).toBe('HTTP/1.1 200')
  expect(seen).toEqual({ connections: 1, requests: 5 })
})

test('after an answer in chunks it is not, whatever the engine has said', async () => {
  const { ask, client, seen } = await anEngine((_, answer) => answer(STREAM))
  for (let i = 1; i <= 5; i += 1) {
    await ask()
    await until(() => client.text().split('0\r\n\r\n').length === i + 1)
  }
  expect(seen).toEqual({ connections: 5, requests: 5 })
})

test('an engine that hangs up on every second request of a connection is asked again on a new one', async () => {
  const { ask, replica, seen } = await anEngine((nth, answer, hangUp) => (nth === 1 ? answer(OK) : hangUp()))
  for (let i = 0; i < 5; i += 1) expect((await ask()).at(-1)).toBe('HTTP/1.1 200')
  await until(() => replica.inFlight === 0)
  // What was sent again had a connection of its own, which was not kept.
  expect(seen).toEqual({ connections: 5, requests: 7 })
  expect(replica.ended).toBe(5)
})

test('one that hangs up after it had time to work for the request is not asked twice', async () => {
  let hangUpLater = (): void => {}
  const { ask, seen } = await anEngine((nth, answer, hangUp) => {
    if (nth === 1) answer(OK)
    else hangUpLater = hangUp
  })
  await ask()
  const asked = ask()
  await until(() => seen.requests === 2)
  const nowMs = performance.now()
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs + 2000)
  hangUpLater()
  expect(await asked.finally(() => clock.mockRestore())).toEqual(['HTTP/1.1 200', 'HTTP/1.1 502'])
  expect(seen.requests).toBe(2)
})

test('a request that has not come whole has a connection of its own, because it could not be sent again', async () => {
  // The second thing that it sees is the head alone.
  let isFirst = true
  const { ask, client, seen } = await anEngine((nth, answer) => {
    if (isFirst || nth === 2) answer(OK)
    isFirst = false
  })
  await ask()
  client.send(HEAD)
  await until(() => seen.connections === 2)
  expect((await ask('{}')).at(-1)).toBe('HTTP/1.1 200')
})
