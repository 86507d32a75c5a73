import { createServer, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { until } from '../../../test/support/until.ts'
import { ConnectionPool } from './connection-pool.ts'
import type { CallEvents, UpstreamConnection } from './upstream-connection.ts'

const silent: CallEvents = { onHead() {}, onBody() {}, onEnd() {}, onPause() {}, onDrain() {}, onFailed() {} }

/** An upstream that does with each request, by number over all connections, as it is told. */
async function anUpstream(onRequest: (socket: Socket, nth: number) => void) {
  const sockets: Socket[] = []
  let count = 0
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.on('data', () => onRequest(socket, (count += 1)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const pool = new ConnectionPool()
  onTestFinished(() => {
    pool.destroy()
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const { port } = server.address() as AddressInfo
  const begin = (events: Partial<CallEvents>): UpstreamConnection => {
    const connection = pool.take({ host: '127.0.0.1', port })
    connection.begin('POST', 'POST / HTTP/1.1\r\nhost: x\r\n\r\n', Buffer.from('body'), { ...silent, ...events })
    return connection
  }
  const ask = (): Promise<{ text: string; isReused: boolean }> =>
    new Promise((resolve, reject) => {
      let text = ''
      let isReused = false
      const connection = begin({
        onBody: (piece) => void (text += piece.toString()),
        onEnd: () => resolve({ text, isReused }),
        onFailed: reject,
      })
      isReused = connection.isReused
    })
  return { ask, begin, take: () => pool.take({ host: '127.0.0.1', port }), sockets }
}

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

test('a connection is kept for the next request, and several run side by side', async () => {
  const { ask, sockets } = await anUpstream((socket) => void socket.write(OK))
  expect(await ask()).toEqual({ text: 'ok', isReused: false })
  expect(await ask()).toEqual({ text: 'ok', isReused: true })
  await Promise.all([ask(), ask(), ask()])
  expect(sockets.length).toBeLessThanOrEqual(3)
})

test.each([
  ['says that it closes', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok'],
  ['says more than was asked', `${OK}HTTP/1.1 200 OK\r\n\r\n`],
])('one that %s is not used again', async (_, text) => {
  const { ask, sockets } = await anUpstream((socket) => void socket.write(text))
  expect((await ask()).text).toBe('ok')
  await until(() => sockets[0]!.destroyed || sockets[0]!.readableEnded)
  expect((await ask()).isReused).toBe(false)
})

test('one that ends while nobody uses it is forgotten', async () => {
  const { ask, sockets } = await anUpstream((socket) => void socket.write(OK))
  await ask()
  sockets[0]!.end()
  await until(() => sockets[0]!.destroyed)
  expect((await ask()).isReused).toBe(false)
})

test('an end in the middle and one before the answer are told once', async () => {
  const { ask, begin } = await anUpstream((socket, nth) => {
    if (nth === 1) socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhal')
    else socket.destroy()
  })
  await expect(ask()).rejects.toThrow('it closed the connection')
  const failed: Error[] = []
  begin({ onFailed: (error) => failed.push(error) })
  await until(() => failed.length > 0)
  expect(failed).toMatchObject([{ code: 'ECONNRESET' }])
})

test('what is destroyed tells nothing more, and its connection is closed', async () => {
  const { begin, sockets } = await anUpstream((socket) => void socket.write('HTTP/1.1 200 OK\r\n\r\nsome'))
  const told: string[] = []
  let hasBegun = false
  const connection = begin({
    onHead: () => void (hasBegun = true),
    onEnd: () => void told.push('end'),
    onFailed: () => void told.push('failed'),
  })
  await until(() => hasBegun)
  connection.destroy()
  await until(() => sockets[0]!.destroyed)
  expect(told).toEqual([])
})

test('what an upstream says while its request still waits to be sent is no answer to it', async () => {
  const { ask, take, sockets } = await anUpstream((socket) => void socket.write(OK))
  await Promise.all([ask(), ask()])
  const [first, second] = [take(), take()]
  // No time passes between them, so that the second waits for others.
  vi.spyOn(performance, 'now').mockReturnValue(performance.now())
  onTestFinished(() => void vi.restoreAllMocks())
  const outcome = new Promise((resolve) => {
    // A timer’s turn goes on with what has come, before it ends.
    setTimeout(() => {
      const start = Buffer.from('POST / HTTP/1.1\r\nhost: x\r\nx-request-id: ')
      const middle = Buffer.from('\r\ncontent-length: ')
      const head = { start, id: 'one', middle, length: 4, end: Buffer.from('\r\n\r\n') }
      for (const connection of [first, second]) {
        const lengthen = (): void => connection.lengthen('POST', { ...silent, onFailed: resolve })
        connection.beginShort(head, Buffer.from('body'), 0, { onWhole: () => true, onLonger: lengthen })
      }
      for (const socket of sockets) socket.write(OK)
    }, 0)
  })
  expect(await outcome).toMatchObject({ message: 'it sent data before the request' })
})
