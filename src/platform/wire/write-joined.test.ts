import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { aSocketPair } from '../../testing/socket-pair.ts'
import { until } from '../../testing/until.ts'
import { writeJoined, type JoinedHead } from './write-joined.ts'

const CAME = 'HTTP/1.1 200 OK\r\nserver: x\r\n\r\n'
const bodyOf = (length: number, character: string): string => character.repeat(length)

/** In two parts, wherever they part. */
const inTwo = (head: string, at = 20): JoinedHead => ({
  start: Buffer.from(head.slice(0, at), 'latin1'),
  rest: head.slice(at),
})

/** An answer as it was read: a head, and a body behind it. */
const cameWith = (body: string): Buffer => Buffer.from(CAME + body, 'latin1')

test.each([
  ['a longer head', `${CAME.slice(0, -2)}x-more: 1\r\n\r\n`, 600],
  ['a head as long', CAME.toUpperCase(), 600],
  ['a shorter head', 'HTTP/1.1 200 OK\r\n\r\n', 600],
  ['no body', `${CAME.slice(0, -2)}x-more: 1\r\n\r\n`, 0],
  ['characters beyond ASCII', `HTTP/1.1 200 Gr\xfc\xdfe\r\nserver: x, y, z\r\n\r\n`, 3],
  ['a body that is just as long as memory', `${CAME.slice(0, -2)}x-more: 1\r\n\r\n`, 64 * 1024 - CAME.length],
  ['a body that is longer than memory', `${CAME.slice(0, -2)}x-more: 1\r\n\r\n`, 200_000],
])('%s', async (_, head, length) => {
  const { taken, client } = await aSocketPair()
  for (const body of [bodyOf(length, '\xe9'), bodyOf(length, 'b')]) {
    writeJoined(taken, inTwo(head), cameWith(body), CAME.length)
    await until(() => taken.writableLength === 0)
  }
  taken.end()
  expect(await client.closes()).toBe(head + bodyOf(length, '\xe9') + head + bodyOf(length, 'b'))
})

test('what the system has not taken yet stays as it is while others are written', async () => {
  const [slow, quick] = [await aSocketPair(), await aSocketPair()]
  const head = `${CAME.slice(0, -2)}x-more: 1\r\n\r\n`
  slow.client.socket.pause()
  const expected = createHash('sha256')
  let isTaken = true
  for (let i = 0; isTaken; i += 1) {
    const body = bodyOf(50_000, String.fromCharCode(97 + (i % 26)))
    isTaken = writeJoined(slow.taken, inTwo(head), cameWith(body), CAME.length)
    expected.update(head + body)
  }
  for (const character of 'XYZ') writeJoined(quick.taken, inTwo(head), cameWith(bodyOf(50_000, character)), CAME.length)
  await quick.client.reads(`${bodyOf(50_000, 'Y')}${head}${bodyOf(50_000, 'Z')}`)
  slow.taken.end()
  slow.client.socket.resume()
  const got = createHash('sha256').update(await slow.client.closes())
  expect(got.digest('hex')).toBe(expected.digest('hex'))
})
