import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { aSocketPair } from '../../../test/support/http/socket-pair.ts'
import { until } from '../../../test/support/until.ts'
import { isShared } from '../fast/shared-reads.ts'
import { Cable } from './mux.ts'
import { DATA, FRAME_BYTES, PING, PONG, writeFrame } from './frames.ts'
import { WINDOW_BYTES, type Strand } from './mux-stream.ts'

/** Both ends of a cable; what is begun at the one is given to `onStrand` at the other. */
async function aCable(onStrand: (strand: Strand) => void) {
  const { taken, client } = await aSocketPair()
  client.socket.removeAllListeners('data')
  let gone = 0
  const onGone = (): void => void (gone += 1)
  const begins = new Cable(client.socket, { onGone })
  const takes = new Cable(taken, { onStrand, onGone })
  client.socket.on('data', (bytes) => begins.take(bytes))
  if (!isShared(taken)) throw new Error('it is read as a stream')
  taken.onBytes = (bytes) => takes.take(bytes)
  taken.resume()
  onTestFinished(() => begins.destroy())
  return { begins, takes, socket: client.socket, gone: () => gone }
}

const echo = (strand: Strand): void => void strand.pipe(strand)

/** All that comes until its end. */
async function read(strand: Duplex): Promise<string> {
  let text = ''
  strand.on('data', (piece: Buffer) => (text += piece.toString('latin1')))
  await once(strand, 'end')
  return text
}

test('many strands say and hear their own, whatever the others do', { timeout: 120_000 }, async () => {
  const { begins, gone } = await aCable(echo)
  const piece = fc.string({ unit: 'binary-ascii', maxLength: 5000 })
  const long = fc.integer({ min: 1, max: 5 }).map((times) => 'long '.repeat(times * 20_000))
  const pieces = fc.array(fc.oneof({ weight: 9, arbitrary: piece }, { weight: 1, arbitrary: long }), { maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(fc.array(pieces, { minLength: 1, maxLength: 20 }), async (said) => {
      const heard = said.map((texts, i) => {
        const strand = begins.open()!
        for (const [n, text] of texts.entries()) {
          if ((i + n) % 2 === 0) strand.write(text, 'latin1')
          else strand.write(Buffer.from(text, 'latin1'))
        }
        // One that has said nothing has not begun.
        strand.write('.')
        strand.end()
        return read(strand)
      })
      expect(await Promise.all(heard)).toEqual(said.map((texts) => `${texts.join('')}.`))
    }),
    { numRuns: 30 },
  )
  expect(gone()).toBe(0)
})

test('a stream that is not read waits, and holds up no other', async () => {
  const kept: Strand[] = []
  const { begins } = await aCable((strand) => (kept.length === 0 ? void kept.push(strand.pause()) : echo(strand)))
  const slow = begins.open()!
  let sent = 0
  slow.write('x'.repeat(10 * WINDOW_BYTES), () => (sent += 1))
  const quick = begins.open()!
  quick.end('hello')
  expect(await read(quick)).toBe('hello')
  expect(sent).toBe(0)
  expect(slow.bytesWritten).toBeLessThanOrEqual(WINDOW_BYTES)
  expect(kept[0]!.bytesRead).toBeLessThanOrEqual(WINDOW_BYTES)
  slow.end()
  expect((await read(kept[0]!.resume())).length).toBe(10 * WINDOW_BYTES)
  expect(sent).toBe(1)
})

test('one that is held back while it is read byte by byte gets all, in its order, when it goes on', async () => {
  const heard: string[] = []
  let strand!: Strand
  const { begins } = await aCable((begun) => {
    strand = begun
    begun.onBytes = (bytes) => {
      heard.push(bytes.toString('latin1'))
      if (heard.length === 1) begun.pause()
    }
  })
  const ours = begins.open()!
  for (const text of ['a', 'b', 'c']) {
    ours.write(text)
    await new Promise((resolve) => setImmediate(resolve))
  }
  ours.end()
  await until(() => strand.bytesRead === 3)
  expect(heard).toEqual(['a'])
  strand.resume()
  await once(strand, 'end')
  expect(heard.join('')).toBe('abc')
})

test('what is written in one piece is told in one piece', async () => {
  const heard: number[] = []
  const { begins } = await aCable((strand) => (strand.onBytes = (bytes) => heard.push(bytes.length)))
  const lengths = [1, 700, 20_000, 60_000, 3]
  for (const length of lengths) begins.open()!.write('x'.repeat(length))
  await until(() => heard.length === lengths.length)
  expect(heard).toEqual(lengths)
})

test('either side may stop speaking and go on listening', async () => {
  const { begins } = await aCable((strand) => {
    strand.once('end', () => strand.end('goodbye'))
    strand.resume()
  })
  const strand = begins.open()!
  strand.end('hello')
  expect(await read(strand)).toBe('goodbye')
})

test('one that is closed is closed at the other side, and nothing else is', async () => {
  const taken: Strand[] = []
  const { begins, gone } = await aCable((strand) => taken.push(strand))
  const [one, other] = [begins.open()!, begins.open()!]
  one.write('1')
  other.write('2')
  await until(() => taken.length === 2)
  one.destroy()
  await until(() => taken[0]!.destroyed)
  const failed = once(other, 'error')
  taken[1]!.destroy()
  expect(await failed).toMatchObject([{ code: 'ECONNRESET' }])
  expect(gone()).toBe(0)
})

test('one side says something to what the other has closed: it hears so, instead of waiting for credit', async () => {
  const { begins } = await aCable((strand) => {
    strand.write('all')
    strand.destroySoon()
  })
  const strand = begins.open()!
  strand.write('1')
  strand.resume()
  await once(strand, 'end')
  expect(strand.destroyed).toBe(false)
  const failed = once(strand, 'error')
  strand.write('x'.repeat(WINDOW_BYTES * 2))
  expect(await failed).toMatchObject([{ code: 'ECONNRESET' }])
})

test('with the cable all of its strands end, at both sides', async () => {
  const taken: Strand[] = []
  const { begins, socket, gone } = await aCable((strand) => taken.push(strand))
  const strands = [begins.open()!, begins.open()!]
  for (const strand of strands) strand.write('x')
  await until(() => taken.length === 2)
  socket.destroy()
  await until(() => [...strands, ...taken].every(({ destroyed }) => destroyed))
  expect(gone()).toBe(2)
  expect(begins.isWell).toBe(false)
  expect(begins.open()).toBeUndefined()
})

test('one that is to end says so, ends with the last of its strands, and takes those that were on their way', async () => {
  const { begins, takes, gone } = await aCable(echo)
  const strand = begins.open()!
  strand.write('1')
  await once(strand, 'readable')
  takes.announceEnd()
  takes.endWhenUnused()
  const late = begins.open()!
  late.end('2')
  expect(await read(late)).toBe('2')
  expect(begins.isWell).toBe(false)
  expect(gone()).toBe(0)
  strand.resume().end()
  await until(() => gone() === 2)
})

test.each([
  ['more than there is credit for', () => Array.from({ length: 5 }, () => dataFrame(1, 60_000))],
  ['something that is no frame', () => [Buffer.from('GET / HTTP/1.1\r\n\r\n')]],
])('a side that sends %s is cut off', async (_, frames) => {
  const { taken, client } = await aSocketPair()
  let gone = 0
  const cable = new Cable(taken, { onStrand: (strand) => strand.pause(), onGone: () => (gone += 1) })
  taken.on('data', (bytes) => cable.take(bytes))
  for (const frame of frames()) client.send(frame)
  await client.closes()
  await until(() => gone === 1)
  expect(cable.isWell).toBe(false)
})

test('a side that is silent is asked, then not trusted with anything new, then given up', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const { taken, client } = await aSocketPair()
  let gone = 0
  const cable = new Cable(taken, { onGone: () => (gone += 1) })
  taken.on('data', (bytes) => cable.take(bytes))
  const pong = Buffer.alloc(FRAME_BYTES)
  writeFrame(pong, 0, 0, PONG, 0)
  vi.advanceTimersByTime(60_000)
  // Nothing was said, so nothing is expected.
  expect(cable.isWell).toBe(true)

  cable
    .open()!

    .write('x')
  await until(() => client.text().length === FRAME_BYTES + 1)
  vi.advanceTimersByTime(1000)
  await until(() => client.text().length === 2 * FRAME_BYTES + 1)
  expect(cable.isWell).toBe(true)
  vi.advanceTimersByTime(1000)
  expect(cable.isWell).toBe(false)
  client.send(pong)
  await until(() => cable.isWell)

  cable
    .open()!

    .write('x')
  await until(() => client.text().length === 3 * FRAME_BYTES + 2)
  vi.advanceTimersByTime(31_000)
  await client.closes()
  await until(() => gone === 1)
})

function dataFrame(id: number, length: number): Buffer {
  const frame = Buffer.alloc(FRAME_BYTES + length, 'x')
  writeFrame(frame, 0, id, DATA, length)
  return frame
}

test.each([
  ['asks whether it is there', PING, 0, 0],
  ['speaks of what is no more', DATA, 1, 1],
])('a side that %s and never reads is given up, and costs no more than some megabytes', async (_, kind, id, amount) => {
  const { taken, client } = await aSocketPair()
  const { socket } = client
  socket.removeAllListeners('data')
  socket.pause()
  let gone = 0
  const cable = new Cable(taken, { onGone: () => void (gone += 1) })
  let most = 0
  if (!isShared(taken)) throw new Error('it is read as a stream')
  taken.onBytes = (bytes) => {
    cable.take(bytes)
    most = Math.max(most, taken.writableLength)
  }
  taken.resume()
  const size = FRAME_BYTES + amount
  const frames = Buffer.alloc(8192 * size)
  for (let at = 0; at < frames.length; at += size) writeFrame(frames, at, id, kind, amount)
  let sent = 0
  const flood = (): void => {
    for (let isTaken = true; isTaken && sent < 2000; sent += 1) isTaken = socket.write(frames)
  }
  socket.on('drain', flood)
  flood()
  await until(() => gone === 1)
  expect(most).toBeLessThan(4 * 1024 * 1024)
})
