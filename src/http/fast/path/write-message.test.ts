import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { aSocketPair, type SocketPair } from '../../../../test/support/http/socket-pair.ts'
import { until } from '../../../../test/support/until.ts'
import type { JoinedHead } from './head-parts.ts'
import { writeJoined } from './write-message.ts'

const CAME = 'HTTP/1.1 200 OK\r\nserver: x\r\n\r\n'
const bodyOf = (length: number, character: string): string => character.repeat(length)

/** In parts, wherever they part. */
const inParts = (head: string): JoinedHead => ({
  start: Buffer.from(head.slice(0, 9), 'latin1'),
  id: head.slice(9, 12),
  middle: Buffer.from(head.slice(12, 15), 'latin1'),
  length: -1,
  end: Buffer.from(head.slice(15), 'latin1'),
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
    writeJoined(taken, inParts(head), cameWith(body), CAME.length)
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
  for (let i = 0, isTaken = true; isTaken; i += 1) {
    const body = bodyOf(50_000, String.fromCharCode(97 + (i % 26)))
    isTaken = await new Promise((onWritten) =>
      writeJoined(slow.taken, inParts(head), cameWith(body), CAME.length, { onWritten }),
    )
    expected.update(head + body)
  }
  for (const character of 'XYZ')
    writeJoined(quick.taken, inParts(head), cameWith(bodyOf(50_000, character)), CAME.length)
  await quick.client.reads(`${bodyOf(50_000, 'Y')}${head}${bodyOf(50_000, 'Z')}`)
  slow.taken.end()
  slow.client.socket.resume()
  const got = createHash('sha256').update(await slow.client.closes())
  expect(got.digest('hex')).toBe(expected.digest('hex'))
})

describe('what is written in one turn of the event loop', () => {
  const HEAD = `${CAME.slice(0, -2)}x-more: 1\r\n\r\n`
  const pairs = (): Promise<SocketPair[]> => Promise.all(Array.from({ length: 70 }, () => aSocketPair()))

  // No time passes, so that none of them is alone.
  beforeEach(() => void vi.spyOn(performance, 'now').mockReturnValue(performance.now()))
  afterEach(() => vi.restoreAllMocks())

  /** One for each pair, with its number; returns the numbers of those that were told of, in order. */
  const writeEach = (all: readonly SocketPair[], onWritten: (nth: number) => void = () => {}): number[] => {
    const told: number[] = []
    for (const [nth, { taken }] of all.entries()) {
      const writer = {
        onWritten(isTaken: boolean): void {
          expect(isTaken).toBe(true)
          told.push(nth)
          onWritten(nth)
        },
      }
      writeJoined(taken, inParts(HEAD), cameWith(`<${nth}>`), CAME.length, writer)
    }
    return told
  }

  test('is written at its end, and before that when it is much; all of it, in order, each to its own', async () => {
    const all = await pairs()
    const told = writeEach(all)
    // The very first may have been alone.
    expect([64, 65]).toContain(told.length)
    await until(() => told.length === all.length)
    expect(told).toEqual(all.map((_, nth) => nth))
    for (const [nth, { taken, client }] of all.entries()) {
      taken.end()
      expect(await client.closes()).toBe(`${HEAD}<${nth}>`)
    }
  })

  test('may lead to more that is written', async () => {
    const all = await pairs()
    const again: number[] = []
    writeEach(all, (nth) => {
      const writer = { onWritten: () => void again.push(nth) }
      writeJoined(all[nth]!.taken, inParts(HEAD), cameWith(`again ${nth}`), CAME.length, writer)
    })
    await until(() => again.length === all.length)
    for (const [nth, { taken, client }] of all.entries()) {
      taken.end()
      expect(await client.closes()).toBe(`${HEAD}<${nth}>${HEAD}again ${nth}`)
    }
  })

  test('does not depend on those whose connection has ended meanwhile', async () => {
    const all = await pairs()
    const gone = all.at(-2)!
    const told: number[] = []
    for (const [nth, { taken }] of all.entries())
      writeJoined(taken, inParts(HEAD), cameWith(`<${nth}>`), CAME.length, { onWritten: () => void told.push(nth) })
    gone.taken.destroy()
    await until(() => told.length === all.length)
    const last = all.at(-1)!
    last.taken.end()
    expect(await last.client.closes()).toBe(`${HEAD}<${all.length - 1}>`)
    expect(await gone.client.closes()).toBe('')
  })
})
