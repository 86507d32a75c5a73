import { AnswerParser, answerStart } from '../../src/http/upstream/answer-parser.ts'
import { readEvents } from '../../src/http/client/sse-reader.ts'
import { areWholeChunks, ChunkReader } from '../../src/http/fast/chunk-reader.ts'
import { readHead, type WireHead } from '../../src/http/fast/read-head.ts'
import { idIn, RepeatedHead } from '../../src/http/fast/path/head-template.ts'
import { compareAnswers, compareRequests, type Compared } from '../../test/support/http/compare-parsers.ts'
import { plainAnswers, saidBytes, splitAnswers } from '../../test/support/http/odd-answers.ts'
import { answerContexts } from '../../test/support/http/read-answer.ts'
import { plainRequests, sentBytes } from '../../test/support/http/odd-requests.ts'
import { readByWire } from '../../test/support/http/read-by-wire.ts'
import { smuggledRequests } from '../../test/support/http/smuggled-requests.ts'
import fc from 'fast-check'
import { inPieces } from '../pieces.ts'
import { spoiled } from '../spoil.ts'
import { insist, mayRefuse, mayRefuseLater, type FuzzTarget } from '../target.ts'

/** As clients send them again and again; what came with each of these was learnt. */
const repeatedRequests = [
  'POST /v1/x HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer gr\xf6n\r\nX-Request-Id: id-1 \r\nContent-Length:\t5\r\n\r\nhello',
  'POST /v1/x HTTP/1.1\r\ncontent-length: 5\r\nx-api-key: k\r\nconnection: keep-alive\r\n\r\nhello',
]
const learnt = repeatedRequests.map((text) => RepeatedHead.of(text.slice(0, -'hello'.length))!)
const requests = asBytes([...Object.values(plainRequests), ...repeatedRequests])
const words = [
  '\r\n',
  ': ',
  'Host',
  'Content-Length',
  'Transfer-Encoding: chunked',
  'HTTP/1.1',
  'GET ',
  'POST /',
  '0\r\n\r\n',
]
const requestBytes = fc.oneof(
  spoiled(requests, words),
  sentBytes.map((text) => Buffer.from(text, 'latin1')),
)
/** The same, and what is known to have been read in two ways. */
const comparedRequests = fc.oneof(
  requestBytes,
  spoiled(asBytes(smuggledRequests), [...words, 'Transfer-Encoding: gzip', 'Connection: close', '5\r\n']),
)
const answerWords = ['\r\n', 'HTTP/1.1 ', 'content-length: ', 'transfer-encoding: chunked', '\r\n\r\n']
const comparedAnswers = fc.oneof(
  spoiled(asBytes({ ...plainAnswers, ...splitAnswers }), [...answerWords, 'Connection: close', '204', '0\r\n\r\n']),
  saidBytes.map((text) => Buffer.from(text, 'latin1')),
)
const chunked = [
  '5\r\nhello\r\n0\r\n\r\n',
  'A;x=y;z\r\n0123456789\r\n0\r\nx: y\r\n\r\n',
  '1\r\na\r\n1\r\nb\r\n0\r\n\r\n',
]
const answers = [
  'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello',
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
  'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n',
  'HTTP/1.0 200\r\n\r\nuntil the end',
]
const events = ['data: {"a":1}\n\n', ': alive\n\nevent: x\ndata: 1\ndata: 2\r\n\r\n', 'data: [DONE]\r\rdata:\n\n']

/** Its own words for what it refuses; whoever reads from a connection ends it then. */
const isPlainError = (error: unknown): boolean => error instanceof Error && error.constructor === Error

export const httpTargets: readonly FuzzTarget[] = [
  {
    name: 'request-head',
    reads: 'the head of an HTTP request, from any client',
    cases: requestBytes,
    read(bytes) {
      const head = readHead(bytes, '/', 16_384)
      for (const [i, repeated] of learnt.entries()) {
        if (repeated.matches(bytes)) insist(isRepeated(repeated, repeatedRequests[i]!, bytes, head), 'known, but other')
      }
      if (typeof head === 'string') return
      insist(head.end <= bytes.length, 'the head ends behind the bytes')
      insist(!/[\r\n\0]/.test(head.url + head.rawHeaders.join('')), 'a line break got into a header')
      insist(head.length === undefined || Number.isSafeInteger(head.length), 'the length is no number')
      insist(Object.getPrototypeOf(Object.getPrototypeOf(head.headers) ?? {}) === null, 'headers inherit something')
    },
  },
  {
    name: 'request-connection',
    reads: 'a connection of the wire, in pieces as they come',
    cases: requestBytes,
    async read(bytes) {
      const { requests: read, rest } = await readByWire(inPieces(bytes))
      const total = read.reduce((sum, { body }) => sum + body.length, 0)
      insist(total + rest.length <= bytes.length, 'more came out than went in')
    },
  },
  {
    name: 'chunked-body',
    reads: 'a body in chunks, from clients and engines',
    cases: spoiled(chunked, ['\r\n', '0\r\n\r\n', ';', 'FFFFFFFFFFFF', '1\r\n']),
    read(bytes) {
      const pieces = inPieces(bytes)
      const [unpacked, whole] = [readChunks(pieces, false), readChunks(pieces, true)]
      insist(unpacked.body.length <= bytes.length, 'more came out than went in')
      insist(
        unpacked.isRefused === whole.isRefused,
        'what is refused in pieces is passed on whole, or the other way round',
      )
      if (!whole.isRefused) insist(unpacked.body === whole.body && unpacked.rest === whole.rest, 'read in two ways')
      if (areWholeChunks(bytes, 0)) {
        const { passed, rest } = readChunks([bytes], true)
        insist(passed === bytes.toString('latin1') && rest === undefined, 'it is whole chunks, and passed on otherwise')
      }
      const again = readChunks([Buffer.from(whole.passed, 'latin1')], false)
      insist(!again.isRefused && again.body === whole.body, 'what is passed on says something else')
      insist(again.rest === (whole.rest === undefined ? undefined : ''), 'what is passed on ends elsewhere')
    },
  },
  {
    name: 'answer',
    reads: 'the answer of an engine or of a data port',
    cases: spoiled(answers, answerWords),
    read(bytes) {
      let passed = 0
      const onHead = (): void => {}
      const parser = new AnswerParser('POST', {
        onHead,
        onBody: (piece) => void (passed += piece.length),
        onEnd: () => {},
      })
      mayRefuse(() => {
        for (const piece of inPieces(bytes)) parser.push(piece)
        parser.close()
      }, isPlainError)
      insist(passed <= bytes.length, 'more came out than went in')
      const whole = answerStart(bytes)
      if (!whole?.isWhole) return
      insist(parser.hasEnded && passed === bytes.length - whole.bodyAt, 'it is whole, and read otherwise')
      const repeated = RepeatedHead.of(bytes.toString('latin1', 0, whole.bodyAt))
      insist(!repeated || repeated.matches(bytes), 'it does not match itself')
      insist(!repeated || repeated.bodyAt + repeated.length === bytes.length, 'its length is another')
    },
  },
  {
    name: 'requests-as-llhttp',
    reads: "a connection of the wire, and the same bytes by Node's own parser",
    cases: comparedRequests,
    async read(bytes) {
      insistSame(await compareRequests(bytes))
      insistSame(await compareRequests(bytes, inPieces(bytes)))
    },
  },
  {
    name: 'answers-as-llhttp',
    reads: "what an upstream answers, and the same bytes by Node's own parser",
    cases: comparedAnswers,
    async read(bytes) {
      for (const context of answerContexts) {
        insistSame(await compareAnswers(bytes, context))
        insistSame(await compareAnswers(bytes, context, inPieces(bytes)))
      }
    },
  },
  {
    name: 'server-sent-events',
    reads: 'a stream of events, from a frontend or a model',
    cases: spoiled(events, ['data:', 'event:', '\n\n', '\r', ':']),
    async read(bytes) {
      await mayRefuseLater(async () => {
        for await (const { event, data } of readEvents(streamOf(inPieces(bytes)))) {
          insist(event !== '' && event.length + data.length <= bytes.length * 2 + 10, 'an event out of nowhere')
        }
      })
    },
  },
]

function asBytes(texts: readonly string[] | Readonly<Record<string, string>>): Buffer[] {
  return Object.values(texts).map((text) => Buffer.from(text, 'latin1'))
}

function insistSame({ difference }: Compared): void {
  insist(difference === undefined, difference ?? '')
}

/** `passed` is what is sent to a client; `rest` what follows the body, once that has ended. */
interface ChunksRead {
  body: string
  passed: string
  rest: string | undefined
  isRefused: boolean
}

/** Reads a body in chunks as a passage does, which passes whole chunks on as they came or unpacks all. */
function readChunks(pieces: readonly Buffer[], takesChunks: boolean): ChunksRead {
  const reader = new ChunkReader()
  const read: ChunksRead = { body: '', passed: '', rest: undefined, isRefused: true }
  let isEndPassed = false
  const onBody = (piece: Buffer): void => {
    read.body += piece.toString('latin1')
    read.passed += `${piece.length.toString(16)}\r\n${piece.toString('latin1')}\r\n`
  }
  const onChunks = (chunks: Buffer, isEnd: boolean): void => {
    isEndPassed = isEnd
    read.body += readChunks([chunks], false).body
    read.passed += chunks.toString('latin1')
  }
  mayRefuse(() => {
    for (const [i, piece] of pieces.entries()) {
      const rest = reader.push(piece, takesChunks ? { onBody, onChunks } : { onBody })
      if (rest) read.rest = Buffer.concat([rest, ...pieces.slice(i + 1)]).toString('latin1')
      if (rest) break
    }
    read.isRefused = false
  }, isPlainError)
  if (read.rest !== undefined && !isEndPassed) read.passed += '0\r\n\r\n'
  return read
}

/** Whether a head that is known again says what the one said that was learnt, but for its length and its name. */
function isRepeated(repeated: RepeatedHead, text: string, bytes: Buffer, head: ReturnType<typeof readHead>): boolean {
  // Longer than heads may be.
  if (typeof head === 'string') return repeated.bodyAt > 16_384
  const known = readHead(Buffer.from(text, 'latin1'), '/', 16_384) as WireHead
  const saysSame = (name: string, i: number): boolean =>
    i % 2 === 0 || VARYING.test(head.rawHeaders[i - 1]!) || name === known.rawHeaders[i]
  return (
    head.end === repeated.bodyAt &&
    head.length === repeated.length &&
    head.headers['x-request-id'] === idIn(bytes, repeated) &&
    head.url === known.url &&
    head.rawHeaders.length === known.rawHeaders.length &&
    head.rawHeaders.every(saysSame)
  )
}

const VARYING = /^(?:content-length|x-request-id)$/i

async function* streamOf(pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces
}
