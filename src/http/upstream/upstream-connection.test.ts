import { expect, onTestFinished, test, vi } from 'vitest'
import { rawEngine } from '../../../test/support/worker/data-port.ts'
import { UpstreamConnection } from './upstream-connection.ts'

const MINUTE = 60_000

/** A connection to a server that says what it is told, with time that stands still. */
async function aConnection() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  let say!: (text: string) => void
  const asked = new Promise<void>((resolve) => {
    void rawEngine((socket) => {
      say = (text) => void socket.write(text)
      socket.once('data', () => resolve())
    }).then((port) => begin(port))
  })
  const seen: { status?: number; error?: string; heard: number } = { heard: 0 }
  const begin = (port: number): void => {
    const connection = new UpstreamConnection({ host: '127.0.0.1', port }, undefined, () => {})
    onTestFinished(() => connection.destroy())
    connection.begin('POST', 'POST / HTTP/1.1\r\n\r\n', undefined, {
      onHead: ({ statusCode }) => void (seen.status = statusCode),
      onBody() {},
      onEnd() {},
      onPause: () => void (seen.heard += 1),
      onDrain() {},
      onFailed: ({ message }) => void (seen.error = message),
    })
  }
  await asked
  const says = async (text: string): Promise<void> => {
    const before = seen.heard
    say(text)
    while (seen.heard === before && seen.error === undefined) await new Promise((resolve) => setImmediate(resolve))
  }
  return { seen, says }
}

test('the head of an answer may begin late, and then has a minute, however many of its bytes come meanwhile', async () => {
  const { seen, says } = await aConnection()
  await vi.advanceTimersByTimeAsync(600 * MINUTE)
  await says('HTTP/1.1 200 OK\r\n')
  await vi.advanceTimersByTimeAsync(MINUTE - 1)
  await says('x-slow: ')
  expect(seen.error).toBeUndefined()
  await vi.advanceTimersByTimeAsync(1)
  expect(seen.error).toBe('the head of its answer was not complete within 60 s')
})

test('an answer before the answer says nothing of when the answer comes', async () => {
  const { seen, says } = await aConnection()
  await says('HTTP/1.1 100 Continue\r\n\r\n')
  await vi.advanceTimersByTimeAsync(600 * MINUTE)
  await says('HTTP/1.1 200 OK\r\ncontent-len')
  await vi.advanceTimersByTimeAsync(MINUTE - 1)
  await says('gth: 10\r\n\r\nhello')
  expect(seen.status).toBe(200)
  await vi.advanceTimersByTimeAsync(600 * MINUTE)
  expect(seen.error).toBeUndefined()
})
