import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FrameReader } from './frame-reader.ts'
import { CREDIT, DATA, END, FRAME_BYTES, LAST, MOST_DATA_BYTES, PING, writeFrame } from './frames.ts'

interface Said {
  id: number
  kind: number
  amount: number
  text: string
}

function bytesOf({ id, kind, amount, text }: Said): Buffer {
  const bytes = Buffer.concat([Buffer.alloc(FRAME_BYTES), Buffer.from(text, 'latin1')])
  writeFrame(bytes, 0, id, kind, kind === DATA ? text.length : amount)
  return bytes
}

function read(pieces: readonly Buffer[]): Said[] {
  const told: Said[] = []
  const reader = new FrameReader({
    onData: (id, bytes) => told.push({ id, kind: DATA, amount: 0, text: bytes.toString('latin1') }),
    onFrame: (id, kind, amount) => told.push({ id, kind, amount, text: '' }),
  })
  for (const piece of pieces) {
    // As sockets do it: what was read is overwritten as soon as the reader has returned.
    const lent = Buffer.from(piece)
    reader.push(lent)
    lent.fill(0xff)
  }
  return told
}

const data = (id: number, text: string): Said => ({ id, kind: DATA, amount: 0, text })
const frame = (id: number, kind: number, amount = 0): Said => ({ id, kind, amount, text: '' })

test('wherever they are cut, each frame is told once, and whole', () => {
  const said = [
    data(1, 'hello'),
    frame(0, PING),
    frame(0xff_ff_ff_ff, CREDIT, 0xff_ff_ff),
    data(70_000, ''),
    frame(1, END),
  ]
  const bytes = Buffer.concat(said.map(bytesOf))
  for (let at = 0; at <= bytes.length; at += 1) {
    expect(read([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(said)
    for (let next = at; next <= bytes.length; next += 1) {
      expect(read([bytes.subarray(0, at), bytes.subarray(at, next), bytes.subarray(next)])).toEqual(said)
    }
  }
})

test('any frames in any pieces', () => {
  const id = fc.integer({ min: 0, max: 0xff_ff_ff_ff })
  const some = fc.oneof(
    fc.record({
      id,
      kind: fc.constant(DATA),
      amount: fc.constant(0),
      text: fc.string({ unit: 'binary-ascii', maxLength: 3000 }),
    }),
    fc.record({ id, kind: fc.integer({ min: END, max: LAST }), amount: fc.nat(0xff_ff_ff), text: fc.constant('') }),
  )
  fc.assert(
    fc.property(fc.array(some, { maxLength: 20 }), fc.array(fc.integer({ min: 1, max: 4000 })), (said, lengths) => {
      const bytes = Buffer.concat(said.map(bytesOf))
      const pieces: Buffer[] = []
      let at = 0
      for (const length of lengths) pieces.push(bytes.subarray(at, (at += length)))
      expect(read([...pieces, bytes.subarray(at)])).toEqual(said)
    }),
  )
})

test('the longest there is, in one piece and byte by byte', () => {
  const longest = data(3, 'x'.repeat(MOST_DATA_BYTES))
  const bytes = bytesOf(longest)
  expect(read([bytes])).toEqual([longest])
  expect(read(Array.from(bytes, (byte) => Buffer.of(byte)))).toEqual([longest])
})

test.each([
  ['is longer than any may be', data(1, 'x'.repeat(MOST_DATA_BYTES + 1)), 'too long'],
  ['is of no kind', frame(1, LAST + 1), 'unknown frame kind 7'],
])('one that %s is refused with its head', (_, said, why) => {
  const head = bytesOf(said).subarray(0, FRAME_BYTES)
  expect(() => read([head])).toThrow(why)
  expect(() => read([head.subarray(0, 5), head.subarray(5)])).toThrow(why)
})
