import fc from 'fast-check'
import { expect, test } from 'vitest'
import { areWholeChunks, ChunkReader } from './chunk-reader.ts'

const data = fc.array(fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 40 }), { maxLength: 8 })
const cuts = fc.array(fc.nat(1000), { maxLength: 12 })

test('whole chunks pass as they came, the others in pieces; together they are the body, and nothing is lost or added', () => {
  fc.assert(
    fc.property(data, cuts, fc.boolean(), fc.constantFrom('', 'next'), (parts, at, takesChunks, next) => {
      const body = parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')
      const text = `${body}0\r\n\r\n${next}`
      const read = { text: '', rest: '' }
      const reader = new ChunkReader()
      const events = {
        onBody: (piece: Buffer) => void (read.text += piece.toString('latin1')),
        onChunks: takesChunks
          ? (chunks: Buffer, isEnd: boolean) => void (read.text += unpacked(chunks, isEnd))
          : undefined,
      }
      for (const piece of piecesOf(text, at)) {
        if (reader.hasEnded) read.rest += piece
        else read.rest += reader.push(Buffer.from(piece, 'latin1'), events)?.toString('latin1') ?? ''
      }
      expect(read).toEqual({ text: parts.join(''), rest: next })
      expect(reader.hasEnded).toBe(true)
    }),
  )
})

test.each([
  ['nothing', '', true],
  ['one', '2\r\nab\r\n', true],
  ['several', '2\r\nab\r\nA\r\n0123456789\r\n', true],
  ['half of one', '2\r\na', false],
  ['one and a half', '2\r\nab\r\n2\r\na', false],
  ['the last one', '0\r\n\r\n', false],
  ['one and the last one', '2\r\nab\r\n0\r\n\r\n', false],
  ['one with an extension', '2;x\r\nab\r\n', false],
  ['no chunk at all', 'ab', false],
])('%s: whether it is whole chunks, wherever they begin', (_, text, expected) => {
  for (const before of ['', 'HTTP/1.1 200 OK\r\n\r\n']) {
    expect(areWholeChunks(Buffer.from(before + text), before.length)).toBe(expected)
  }
})

test.each([
  ['chunks and their end', '2\r\nab\r\n0\r\n\r\n', [['2\r\nab\r\n0\r\n\r\n', true]]],
  ['an end alone', '0\r\n\r\n', []],
  ['an end with a field', '2\r\nab\r\n0\r\nx: y\r\n\r\n', [['2\r\nab\r\n', false]]],
  ['an end in more digits than it needs', '2\r\nab\r\n00\r\n\r\n', [['2\r\nab\r\n', false]]],
])('%s in one piece', (_, text, expected) => {
  const told: [string, boolean][] = []
  const onChunks = (chunks: Buffer, isEnd: boolean): void => void told.push([chunks.toString('latin1'), isEnd])
  expect(new ChunkReader().push(Buffer.from(text), { onBody() {}, onChunks })).toHaveLength(0)
  expect(told).toEqual(expected)
})

const END = '0\r\n\r\n'

/** What is in chunks that must be whole, and have an end or not. */
function unpacked(chunks: Buffer, isEnd: boolean): string {
  let text = ''
  const all = chunks.toString('latin1')
  expect(all.endsWith(`\n${END}`)).toBe(isEnd)
  for (let rest = isEnd ? all.slice(0, -END.length) : all; rest !== '';) {
    const [, size] = /^([0-9a-f]+)\r\n/.exec(rest)!
    const start = size!.length + 2
    const end = start + Number.parseInt(size!, 16)
    expect(rest.slice(end, end + 2)).toBe('\r\n')
    text += rest.slice(start, end)
    rest = rest.slice(end + 2)
  }
  return text
}

function piecesOf(text: string, cuts: readonly number[]): string[] {
  const places = [0, ...cuts.map((at) => at % text.length).toSorted((a, b) => a - b), text.length]
  return places.slice(1).flatMap((end, i) => (end > places[i]! ? [text.slice(places[i], end)] : []))
}

test.each([
  ['no size', '\r\nab\r\n'],
  ['a size that is none', 'g\r\n'],
  ['a chunk that is longer than it said', '2\r\nabc\r\n'],
  ['a chunk that is shorter than it said', '3\r\nab\r\n'],
  ['a line that does not end', '1'.repeat(300)],
  ['a length after the last', '0\r\ncontent-length: 5\r\n\r\n'],
  ['fields after the last without an end', `0\r\n${'x: y\r\n'.repeat(3000)}`],
])('%s is an error', (_, text) => {
  expect(() => {
    const reader = new ChunkReader()
    reader.push(Buffer.from(text), { onBody() {} })
    reader.push(Buffer.from('\r\n0\r\n\r\n'), { onBody() {} })
  }).toThrow(Error)
})
