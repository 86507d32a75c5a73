import fc from 'fast-check'

/** Requests as everybody sends them. */
export const plainRequests = {
  'without a body': 'GET /v1/models?a=b HTTP/1.1\r\nHost: a\r\nX-Empty:\r\nX-Odd: \t a b\x80 \r\n\r\n',
  'with a length': 'POST /v1/x HTTP/1.1\r\nhost: a\r\nContent-Length: 5\r\n\r\nhello',
  'with a length of nothing': 'POST /v1/x HTTP/1.1\r\nhost: a\r\nContent-Length: 0\r\n\r\n',
  'in chunks':
    'POST /v1/x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=y;z\r\n, you ther\r\n0\r\nx: y\r\n\r\n',
  several: 'POST /v1/x HTTP/1.1\r\nhost: a\r\nContent-Length: 2\r\n\r\nabGET /v1/y HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(
    2,
  ),
  'the last of its connection': 'GET /v1/x HTTP/1.1\r\nhost: a\r\nConnection: close\r\n\r\n',
}

/** One of a list. */
export const oneOf = (list: string): fc.Arbitrary<string> => fc.constantFrom(...list.split('|'))
const method = oneOf('POST|GET|POST|GET|PUT|HEAD|post|CONNECT|P OST')
const target = oneOf('/v1/x|/|/v1/x?a=b|/a b|*|http://b/|/\x80|/#|/"|v1')
const version = oneOf('HTTP/1.1|HTTP/1.1|HTTP/1.1|HTTP/1.0|HTTP/1.2|HTTP/2|http/1.1|')
const ending = oneOf('\r\n|\r\n|\r\n|\r\n|\r\n|\r\n|\n|\r|\r\r\n| \r\n|\r\n ')
const name = oneOf(
  'Host|Content-Length|content-length|Transfer-Encoding|TRANSFER-ENCODING|Connection|X|x-y|Expect|Upgrade|Content-Length | X|X\t|Content\0Length||Trailer|TE|Proxy-Connection',
)
const value = oneOf(
  'a|0|1|2|5|05|+2|2 2|2,2|0x2|2\x0b|| |\t2\t|chunked|Chunked|close|gzip, chunked|chunked,|keep-alive|upgrade|websocket|100-continue|a\rb|a\nb|a\0b|\x7f|\xa02',
)
const field = fc.tuple(name, oneOf(':|: |:\t| :|'), value, ending).map((parts) => parts.join(''))
const size = oneOf('0|1|2|02|2;a|2;a=b|2;a="b"|2 | 2|2;|2;=|g||A|0x2|-1')
const chunk = fc.tuple(size, ending, oneOf('|a|ab|abc|0123456789'), ending).map((parts) => parts.join(''))
const body = fc.oneof(
  oneOf('|a|ab|abcde|0\r\n\r\n|2\r\nab\r\n0\r\n\r\n|2\r\nab\r\n0\r\nx: y\r\n\r\n'),
  fc.array(chunk, { maxLength: 3 }).map((chunks) => `${chunks.join('')}0\r\n\r\n`),
)
const request = fc
  .tuple(method, target, version, ending, fc.array(field, { maxLength: 5 }), body)
  .map(([verb, path, protocol, end, fields, rest]) => `${verb} ${path} ${protocol}${end}${fields.join('')}\r\n${rest}`)
/** The right one, and now and then one of the others. */
const mostly = (right: string, wrong: string): fc.Arbitrary<string> =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(right) }, { weight: 1, arbitrary: oneOf(wrong) })
/** Chunks that are right but for one thing or so: how a size is written, a line ends, or what follows the last. */
const written = oneOf('%|%|%|%|0%|%;a|%;a=b|%;a="b"|%;|%;;a|%;a=|%; a|% | %|%\t|+%|0x%|%;a\x80|000000000000000%|%.0|%,')
const rightEnding = mostly('\r\n', '\n|\r| \r\n|')
const rightChunk = fc
  .tuple(written, rightEnding, oneOf('a|ab|0123456789|\r\n|0\r\n\r\n'), rightEnding)
  .map(([size, end, data, dataEnd]) => `${size.replace('%', data.length.toString(16))}${end}${data}${dataEnd}`)
const last = mostly(
  '0\r\n\r\n',
  '00\r\n\r\n|0;a\r\n\r\n|0\r\nx: y\r\n\r\n|0\r\n x: y\r\n\r\n|0\r\nx\r\n\r\n|0\r\nx : y\r\n\r\n|0\r\nContent-Length: 1\r\n\r\n|0\r\nx: a\rb\r\n\r\n|0\r\n\n|0\n\r\n',
)
/** Bodies in chunks that are right, or nearly. */
export const chunkedBodies = fc
  .tuple(fc.array(rightChunk, { maxLength: 3 }), last)
  .map(([list, end]) => list.join('') + end)
const otherLines = fc.array(
  oneOf(
    'x: y\r\n|X: z\r\n|x:\r\n|z: \x80\r\n|Connection: close\r\n|connection: keep-alive\r\n|Expect: x\r\n|TE: trailers\r\n',
  ),
  { maxLength: 2 },
)
const framings = (length: number): fc.Arbitrary<string> =>
  oneOf(
    `transfer-encoding: chunked\r\n|Transfer-Encoding: Chunked\r\n|transfer-encoding:\tchunked \r\n||content-length: ${length}\r\n|Content-Length:${length}\t\r\n|content-length: 0${length}\r\n`,
  )
/** Mostly right, so that it is read to its end more often. */
const better = fc
  .tuple(otherLines, otherLines, fc.oneof(chunkedBodies, chunkedBodies, body))
  .chain(([first, second, rest]) =>
    fc
      .tuple(
        framings(rest.length),
        fc.oneof({ weight: 4, arbitrary: fc.constant('') }, { weight: 1, arbitrary: framings(rest.length) }),
      )
      .map(
        ([framing, other]) =>
          `POST /v1/x HTTP/1.1\r\nHost: a\r\n${first.join('')}${framing}${second.join('')}${other}\r\n${rest}`,
      ),
  )
/** With something put into it somewhere, or a character less. */
export const spoiledText = (texts: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(texts, fc.nat(400), oneOf('|\r|\n|\0| |:|0|;|\x80|a')).map(([text, at, what]) => {
    const place = at % text.length
    return text.slice(0, place) + what + text.slice(what === '' ? place + 1 : place)
  })
const spoiled = spoiledText(fc.oneof(better, fc.constantFrom(...Object.values(plainRequests))))

/** What a connection may bring: requests that are right, nearly right, and not at all, several in a row. */
export const sentBytes = fc
  .array(fc.oneof(request, better, better, spoiled), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.join(''))
