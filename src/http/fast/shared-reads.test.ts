import { once } from 'node:events'
import { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { expect, test } from 'vitest'
import { aSocketPair } from '../../../test/support/http/socket-pair.ts'
import { until } from '../../../test/support/until.ts'
import { SharedReadSocket, withSharedReads } from './shared-reads.ts'

test('what comes is told, then streamed; what is said is sent; the end is heard', async () => {
  const { taken, client } = await aSocketPair()
  expect(taken).toBeInstanceOf(SharedReadSocket)
  const socket = taken as SharedReadSocket
  let told = ''
  socket.onBytes = (bytes) => void (told += bytes.toString())
  client.send('one')
  await until(() => told === 'one')
  socket.write('answer')
  await client.reads('answer')
  socket.onBytes = undefined
  let streamed = ''
  socket.on('data', (piece: Buffer) => void (streamed += piece.toString()))
  client.send('two')
  await until(() => streamed === 'two')
  const ended = once(socket, 'end')
  client.endSending()
  await ended
  expect(told).toBe('one')
  socket.end('bye')
  expect(await client.closes()).toBe('answerbye')
})

test('a reader that does not take the stream holds back the reads, and misses nothing', async () => {
  const { taken, client } = await aSocketPair()
  const all = 'x'.repeat(8 * 1024 * 1024)
  client.send(all)
  await until(() => taken.readableLength >= taken.readableHighWaterMark)
  let streamed = 0
  const most = taken.readableLength
  taken.on('data', (piece: Buffer) => void (streamed += piece.length))
  await until(() => streamed === all.length)
  expect(most).toBeLessThan(all.length / 8)
})

test('a reset is an error of the connection and closes it', async () => {
  const { taken, client } = await aSocketPair()
  const failed = once(taken, 'error')
  client.socket.resetAndDestroy()
  expect(await failed).toMatchObject([{ code: 'ECONNRESET' }])
  await until(() => taken.destroyed)
})

test('what is no plain connection, or has been read from, stays as it is', async () => {
  const stream = new Duplex() as Socket
  expect(withSharedReads(stream)).toBe(stream)
  const unconnected = new Socket()
  expect(withSharedReads(unconnected)).toBe(unconnected)
  class Other extends Socket {}
  const other = new Other()
  expect(withSharedReads(other)).toBe(other)
  const { taken, client } = await aSocketPair()
  client.send('a')
  await until(() => taken.bytesRead > 0)
  expect(withSharedReads(taken)).toBe(taken)
})
