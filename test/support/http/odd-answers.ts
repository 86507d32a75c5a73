import fc from 'fast-check'
import { chunkedBodies, oneOf, spoiledText } from './odd-requests.ts'

const OK = 'HTTP/1.1 200 OK\r\n'

/** Answers as engines and data ports give them. */
export const plainAnswers = {
  'with a length': `${OK}content-length: 5\r\nX-A:  b \r\nX-Empty:\r\n\r\nhello`,
  'in chunks': `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nx-trailer: 1\r\n\r\n`,
  empty: `${OK}content-length: 0\r\n\r\n`,
  'after others': `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${OK}content-length: 2\r\n\r\nok`,
  'without a body': 'HTTP/1.1 204 No Content\r\n\r\n',
  'that nothing has changed': 'HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\netag: "a"\r\n\r\n',
  'the last of its connection': `${OK}Connection: close\r\ncontent-length: 2\r\n\r\nok`,
  'of an old server': 'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok',
}

const TAIL = 'HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nsmuggled'
const ok = (lines: string, rest: string): string => `${OK}${lines}\r\n${rest}`

/** Answers that two readers in a row could end at different places, so that the rest is taken for the answer to somebody else. */
export const splitAnswers: Readonly<Record<string, string>> = {
  'a length and chunks': ok('Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${TAIL}`),
  'chunks and a length': ok('Transfer-Encoding: chunked\r\nContent-Length: 4\r\n', `0\r\n\r\n${TAIL}`),
  'two lengths that differ': ok('Content-Length: 0\r\nContent-Length: 40\r\n', TAIL),
  'two lengths that agree': ok('Content-Length: 2\r\nContent-Length: 2\r\n', `ab${TAIL}`),
  'a list of lengths': ok('Content-Length: 2, 2\r\n', `ab${TAIL}`),
  'a length with a sign': ok('Content-Length: +2\r\n', `ab${TAIL}`),
  'a length in hexadecimal': ok('Content-Length: 0x2\r\n', `ab${TAIL}`),
  'a length that is empty': ok('Content-Length:\r\n', TAIL),
  'a length beyond all numbers': ok('Content-Length: 18446744073709551618\r\n', `ab${TAIL}`),
  'a length behind a vertical tab': ok('Content-Length: \x0b2\r\n', `ab${TAIL}`),
  'a space before the colon of a length': ok('Content-Length : 2\r\n', `ab${TAIL}`),
  'a length on a folded line': ok('Content-Length:\r\n 2\r\n', `ab${TAIL}`),
  'a length behind a bare LF': ok('X: y\nContent-Length: 2\r\n', `ab${TAIL}`),
  'a length behind a bare CR': ok('X: y\rContent-Length: 2\r\n', `ab${TAIL}`),
  'a length behind a NUL': ok('X: y\0Content-Length: 2\r\n', `ab${TAIL}`),
  'another coding and chunks': ok('Transfer-Encoding: gzip, chunked\r\n', `0\r\n\r\n${TAIL}`),
  'chunks and another coding': ok('Transfer-Encoding: chunked, identity\r\n', `0\r\n\r\n${TAIL}`),
  'chunks twice': ok('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${TAIL}`),
  'chunks behind a comma': ok('Transfer-Encoding: ,chunked\r\n', `0\r\n\r\n${TAIL}`),
  'chunks in HTTP/1.0': `HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${TAIL}`,
  'a size with a sign': ok('Transfer-Encoding: chunked\r\n', `+2\r\nab\r\n0\r\n\r\n${TAIL}`),
  'a size beyond all numbers': ok('Transfer-Encoding: chunked\r\n', `10000000000000002\r\nab\r\n0\r\n\r\n${TAIL}`),
  'a size that ends with a bare LF': ok('Transfer-Encoding: chunked\r\n', `2\nab\r\n0\r\n\r\n${TAIL}`),
  'an extension with a bare LF in it': ok('Transfer-Encoding: chunked\r\n', `2;a\nab\r\n0\r\n\r\n${TAIL}`),
  'a chunk that ends with a bare LF': ok('Transfer-Encoding: chunked\r\n', `2\r\nab\n0\r\n\r\n${TAIL}`),
  'a chunk that does not end': ok('Transfer-Encoding: chunked\r\n', `2\r\nabc0\r\n\r\n${TAIL}`),
  'a length after the last chunk': ok('Transfer-Encoding: chunked\r\n', `0\r\nContent-Length: 40\r\n\r\n${TAIL}`),
  'a length where there is no body': `HTTP/1.1 204 No Content\r\nContent-Length: 40\r\n\r\n${TAIL}`,
  'chunks where there is no body': `HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n${TAIL}`,
  'a length in an answer before the answer': `HTTP/1.1 100 Continue\r\nContent-Length: 40\r\n\r\n${TAIL}`,
  'close, and then not': ok('Connection: close\r\nConnection: keep-alive\r\nContent-Length: 2\r\n', 'ab'),
  'close, among others': ok('Connection: keep-alive, close\r\nContent-Length: 2\r\n', 'ab'),
  'a status with a sign': `HTTP/1.1 +20 OK\r\nContent-Length: 2\r\n\r\nab${TAIL}`,
  'a head that ends with bare LFs': `HTTP/1.1 200 OK\nContent-Length: 2\n\nab${TAIL}`,
  'an empty line before it': `\r\n${ok('Content-Length: 2\r\n', 'ab')}`,
  'another protocol': `HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n${TAIL}`,
}

const version = oneOf('HTTP/1.1|HTTP/1.1|HTTP/1.1|HTTP/1.1|HTTP/1.0|HTTP/1.2|HTTP/2|http/1.1|HTTP/1.1 ')
const status = oneOf('200|200|200|404|204|304|100|103|500|99|2000|20|x00|+20|000')
const reason = oneOf(' OK| OK| OK|  OK| | \x80||\tOK| O\rK| O\nK| O\0K')
const ending = oneOf('\r\n|\r\n|\r\n|\r\n|\r\n|\r\n|\r\n|\n|\r|\r\r\n')
const field = oneOf(
  'content-length: 2|Content-Length:2 |content-length: 02|content-length: +2|content-length: 2,2|content-length:|transfer-encoding: chunked|Transfer-Encoding: Chunked|transfer-encoding: gzip, chunked|transfer-encoding: identity|Transfer-Encoding:|connection: close|Connection: Keep-Alive|connection: keep-alive, close|connection: closed|Connection: x|x: y|X: z|z:\t\x80 | x: y|x : y|:y|x|x: a\rb|x: a\nb|x: a\0b|upgrade: x',
)
const head = fc
  .tuple(version, status, reason, ending, fc.array(fc.tuple(field, ending), { maxLength: 4 }), ending)
  .map(([protocol, code, why, end, fields, last]) => `${protocol} ${code}${why}${end}${fields.flat().join('')}${last}`)
/** Nearly always right, so that it is read to its end more often. */
const better = fc
  .tuple(
    oneOf('200 OK|200 OK|201|404 Not Found|500 |204 No Content|304 x'),
    fc.array(oneOf('x: y|X:|z: \x80 |Connection: close|connection: keep-alive|date: now|Server: a'), { maxLength: 3 }),
    oneOf('transfer-encoding: chunked|Transfer-Encoding:\tCHUNKED |content-length: 2|Content-Length:2\t|x: none'),
    fc.oneof(chunkedBodies, oneOf('ab|ab|abc||0\r\n\r\n')),
  )
  .map(([code, lines, framing, rest]) => `HTTP/1.1 ${[code, ...lines, framing].join('\r\n')}\r\n\r\n${rest}`)
const body = fc.oneof(chunkedBodies, oneOf('ab|ab|abc|a||0\r\n\r\n|2\r\nab\r\n0\r\n\r\n'))
const spoiled = spoiledText(fc.oneof(better, fc.constantFrom(...Object.values(plainAnswers))))

/** What an upstream may say: answers that are right, nearly right, and not at all, one or two in a row. */
export const saidBytes = fc
  .array(
    fc.oneof(
      better,
      better,
      spoiled,
      fc.tuple(head, body).map(([start, rest]) => start + rest),
    ),
    {
      minLength: 1,
      maxLength: 2,
    },
  )
  .map((parts) => parts.join(''))
