import type { Socket } from 'node:net'
import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { Outbox, Postroom } from './outbox.ts'

/** A socket whose far side reads only when told to. */
class SlowSocket extends Writable {
  readonly writes: string[] = []
  #reading = false
  #waiting: (() => void)[] = []

  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    this.writes.push(Buffer.concat(chunks.map(({ chunk }) => chunk)).toString('latin1'))
    if (this.#reading) done()
    else this.#waiting.push(done)
  }

  read(): void {
    this.#reading = true
    for (const done of this.#waiting.splice(0)) done()
  }

  get text(): string {
    return this.writes.join('')
  }
}

function anOutbox(maxPendingBytes = 10_000_000): { outbox: Outbox; socket: SlowSocket; overflows: number[] } {
  const socket = new SlowSocket()
  const overflows: number[] = []
  const outbox: Outbox = new Outbox(socket as unknown as Socket, new Postroom(), maxPendingBytes, (pendingBytes) => {
    overflows.push(pendingBytes)
    outbox.close()
  })
  return { outbox, socket, overflows }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('what is sent in one turn is one write', async () => {
  const { outbox, socket } = anOutbox()
  socket.read()
  for (let i = 0; i < 100; i += 1) outbox.message(`MSG a ${i} `, Buffer.from('1\r\nx\r\n'))
  expect(socket.writes).toEqual([])
  await turn()
  expect(socket.writes).toHaveLength(1)
  outbox.text('PONG\r\n')
  await turn()
  expect(socket.writes.at(-1)).toBe('PONG\r\n')
})

test('while the socket is behind, small pieces are collected and follow in order', async () => {
  const { outbox, socket } = anOutbox()
  const sent: string[] = []
  for (let i = 0; i < 200; i += 1) {
    const large = i % 50 === 7
    const tail = large ? `${i}`.repeat(10_000) : `${i}\r\n`
    sent.push(`MSG ${tail}`)
    outbox.message('MSG ', Buffer.from(tail))
    await turn()
  }
  expect(socket.writes).toHaveLength(1)
  socket.read()
  await turn()
  await turn()
  expect(socket.text).toBe(sent.join(''))
  expect(socket.writes.length).toBeLessThan(10)
})

test('a block is not filled again before the socket has read it', async () => {
  const { outbox, socket } = anOutbox()
  const sent: string[] = []
  const push = (i: number): void => {
    const text = `${i} `.repeat(500)
    sent.push(text)
    outbox.text(text)
  }
  for (let i = 0; i < 300; i += 1) push(i)
  await turn()
  socket.read()
  for (let i = 300; i < 600; i += 1) {
    push(i)
    if (i % 10 === 0) await turn()
  }
  await turn()
  await turn()
  expect(socket.text).toBe(sent.join(''))
})

test.for([
  ['small pieces', 1_000],
  ['large ones', 60_000],
] as const)('more than may wait is an overflow, once, with little more kept than the limit: %s', async ([, bytes]) => {
  const limit = 500_000
  const { outbox, socket, overflows } = anOutbox(limit)
  for (let i = 0; i < 2_000_000 / bytes; i += 1) {
    outbox.message('MSG ', Buffer.alloc(bytes, 'x'))
    if (i % 10 === 0) await turn()
  }
  expect(overflows).toHaveLength(1)
  expect(overflows[0]).toBeGreaterThan(limit)
  expect(overflows[0]).toBeLessThan(limit + 130_000)
  expect(socket.writableLength).toBeLessThanOrEqual(limit)
})

test('the end hands over what is there, and nothing after', async () => {
  const { outbox, socket } = anOutbox()
  socket.read()
  outbox.text("-ERR 'x'\r\n")
  outbox.end()
  outbox.text('lost')
  await turn()
  expect(socket.text).toBe("-ERR 'x'\r\n")
})
