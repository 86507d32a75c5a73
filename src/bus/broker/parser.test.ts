import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Parser, type Operations } from './parser.ts'

const LIMITS = { maxPayloadBytes: 1_000_000, maxControlLineBytes: 200 }

/** Writes down what the parser calls, with bytes as text. */
function record(connectFirst = false): { parser: Parser; calls: string[]; operations: Operations } {
  const calls: string[] = []
  const operations: Operations = {
    connect: (json) => void calls.push(`connect ${json.trim()}`),
    publish(message) {
      const tail = Buffer.from(message.tail).toString('latin1')
      const body = message.bytes.toString('latin1', message.bodyStart, message.end - 2)
      expect(tail.endsWith(`\r\n${body}\r\n`)).toBe(true)
      calls.push(JSON.stringify(['publish', message.subject, message.reply, message.headerBytes, tail]))
    },
    subscribe: (subject, queue, sid) => void calls.push(`subscribe ${subject} "${queue}" ${sid}`),
    unsubscribe: (sid, max) => void calls.push(`unsubscribe ${sid} ${max}`),
    ping: () => void calls.push('ping'),
    pong: () => void calls.push('pong'),
    failed: (problem) => void calls.push(`failed: ${problem}`),
  }
  const parser = new Parser(operations, LIMITS)
  parser.connectFirst = connectFirst
  return { parser, calls, operations }
}

function parse(...chunks: string[]): string[] {
  const { parser, calls } = record()
  for (const chunk of chunks) parser.push(Buffer.from(chunk, 'latin1'))
  return calls
}

const name = fc.constantFrom('a', 'a.b', '_INBOX.xyz.1', 'ÿ')
const bytes = fc.oneof(
  fc.constantFrom('', 'x', '\r\n', 'PUB a 1\r\nx\r\n', 'PING\r\n'),
  fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)), maxLength: 60 }),
)
const blank = fc.constantFrom(' ', ' ', ' ', '  ', '\t')
const operation = fc.oneof(
  fc.tuple(fc.constantFrom('PUB', 'pub'), name, fc.option(name), bytes, blank).map(([op, to, reply, body, gap]) => {
    return `${[op, to, ...(reply === null ? [] : [reply]), body.length].join(gap)}\r\n${body}\r\n`
  }),
  fc.tuple(name, fc.option(name), bytes, bytes).map(([to, reply, head, body]) => {
    const sizes = `${head.length} ${head.length + body.length}`
    return `HPUB ${to} ${reply === null ? '' : `${reply} `}${sizes}\r\n${head}${body}\r\n`
  }),
  fc.tuple(name, fc.option(name)).map(([to, queue]) => `SUB ${to} ${queue === null ? '' : `${queue} `}7\r\n`),
  fc.constantFrom('UNSUB 7\r\n', 'UNSUB 7 3\r\n', 'PING\r\n', 'pong\r\n', '+OK\r\n', 'CONNECT {"a":1}\r\n'),
)

test('wherever the chunks are cut, the operations are the same', () => {
  const cut = fc.tuple(fc.array(operation, { maxLength: 8 }), fc.array(fc.nat(), { maxLength: 12 }))
  fc.assert(
    fc.property(cut, ([operations, places]) => {
      const text = operations.join('')
      const at = [0, ...places.map((place) => place % (text.length + 1)).toSorted((a, b) => a - b), text.length]
      const chunks = at.slice(1).map((end, i) => text.slice(at[i], end))
      const calls = parse(...chunks)
      expect(calls).toEqual(parse(text))
      expect(calls).toEqual(operations.flatMap((one) => parse(one)))
      expect(calls.join()).not.toContain('failed')
    }),
    { numRuns: 1_000 },
  )
})

test('no input whatever makes it throw, and after a failure it is silent', () => {
  const input = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.array(fc.oneof(operation, bytes), { maxLength: 6 }).map((parts) => Buffer.from(parts.join(''), 'latin1')),
  )
  fc.assert(
    fc.property(fc.array(input, { maxLength: 4 }), (chunks) => {
      const { parser, calls } = record()
      for (const chunk of chunks) parser.push(Buffer.from(chunk))
      const failedAt = calls.findIndex((call) => call.startsWith('failed'))
      expect([-1, calls.length - 1]).toContain(failedAt)
    }),
    { numRuns: 1_000 },
  )
})

test('a message keeps its parts', () => {
  expect(parse('PUB a.b r.1 3\r\nx\r\n\r\n')).toEqual([
    JSON.stringify(['publish', 'a.b', 'r.1', 0, 'r.1 3\r\nx\r\n\r\n']),
  ])
  expect(parse('HPUB a r 2 3\r\nhhb\r\n')).toEqual([JSON.stringify(['publish', 'a', 'r', 2, 'r 2 3\r\nhhb\r\n'])])
})

test('unusual blanks are written anew as usual ones', () => {
  expect(parse('PUB  a\t r   1 \nx\r\n')).toEqual([JSON.stringify(['publish', 'a', 'r', 0, 'r 1\r\nx\r\n'])])
  expect(parse('HPUB a 0 1\r\nx\r\n')).toEqual([JSON.stringify(['publish', 'a', '', 0, '1\r\nx\r\n'])])
})

test('a large message in many chunks arrives whole', () => {
  const body = 'abc\r\n'.repeat(100_000)
  const text = `PUB a ${body.length}\r\n${body}\r\nPING\r\n`
  const chunks = Array.from({ length: Math.ceil(text.length / 1_000) }, (_, i) =>
    text.slice(i * 1_000, i * 1_000 + 1_000),
  )
  expect(parse(...chunks)).toEqual([JSON.stringify(['publish', 'a', '', 0, `${body.length}\r\n${body}\r\n`]), 'ping'])
})

test('the start of an operation is refused as soon as it cannot become one', () => {
  expect(parse('PU')).toEqual([])
  expect(parse('PUX')).toEqual(['failed: unknown operation'])
  expect(parse('HTTP')).toEqual(['failed: unknown operation'])
  expect(parse('SUB', 'X')).toEqual(['failed: unknown operation'])
  expect(parse('\0')).toEqual(['failed: unknown operation'])
})

test('lines are limited whether they end or not', () => {
  const long = 'a'.repeat(LIMITS.maxControlLineBytes + 1)
  for (const text of [
    `PUB ${long} 1\r\n`,
    `PUB ${long}`,
    `SUB ${long} 1\r\n`,
    `SUB ${long}`,
    `CONNECT {"a":"${long}"}\r\n`,
  ]) {
    expect(parse(text)).toEqual(['failed: control line too long'])
  }
  expect(parse(...`SUB ${long}`.split(''))).toEqual(['failed: control line too long'])
})

test('a payload that is announced too large is refused before it comes', () => {
  expect(parse('PUB a 1000001\r\n')).toEqual(['failed: payload too large'])
  expect(parse('HPUB a 12 1000001\r\n')).toEqual(['failed: payload too large'])
})

test('stopped in the middle of a chunk, it takes no more of it', () => {
  const { parser, calls, operations } = record()
  operations.pong = () => parser.stop()
  parser.push(Buffer.from('PING\r\nPONG\r\nPING\r\n'))
  parser.push(Buffer.from('PING\r\n'))
  expect(calls).toEqual(['ping'])
})

test('while it must hear CONNECT first, anything else fails by its first byte', () => {
  const { parser, calls } = record(true)
  parser.push(Buffer.from('c'))
  expect(calls).toEqual([])
  parser.push(Buffer.from('onnect {}\r\nPING\r\n'))
  expect(calls).toEqual(['connect {}', 'failed: not connected'])
})
