import fc from 'fast-check'

/** What may stand in a head besides its length and its name; each line once, so that the head is one that is read. */
const OTHERS = [
  'Host: a',
  'Content-Type: application/json',
  'Accept: */*',
  'User-Agent:\tcurl/8 (x; y)',
  'Connection: keep-alive',
  'X-Session-Id: s',
  'X-Odd: a\x80 b',
  'X-Content-Length: 5',
  'Authorization: Bearer fl_abc',
  'authorization:Bearer gr\xf6\xdfe ',
  'X-Api-Key: \tkey',
  'x-api-key:',
]
const NAMES = ['content-length', 'Content-Length', 'CONTENT-LENGTH']
const ID_NAMES = ['x-request-id', 'X-Request-Id']
const [LENGTH_MARK, ID_MARK] = ['%length', '%id']
const SPACES = ['', ' ', '\t ', '  ']

/** The lines of a head with two gaps in it: where it says how long its body is, and what it is called. */
export interface HeadForm {
  url: string
  lines: readonly string[]
}

const spaced = (names: readonly string[], mark: string): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom(...names), fc.constantFrom(...SPACES), fc.constantFrom('', ' ', '\t'))
    .map(([name, before, after]) => `${name}:${before}${mark}${after}`)

export const headForms: fc.Arbitrary<HeadForm> = fc
  .record({
    url: fc.constantFrom('/v1/x', '/v1/chat/completions', '/v1/x?a=b'),
    length: spaced(NAMES, LENGTH_MARK),
    id: fc.option(spaced(ID_NAMES, ID_MARK)),
    others: fc.uniqueArray(fc.constantFrom(...OTHERS), {
      maxLength: 6,
      selector: (line) => line.slice(0, line.indexOf(':')).toLowerCase(),
    }),
  })
  .chain(({ url, length, id, others }) => {
    const lines = [length, ...(id === null ? [] : [id]), ...others]
    return fc.shuffledSubarray(lines, { minLength: lines.length }).map((shuffled) => ({ url, lines: shuffled }))
  })

export function headOf({ url, lines }: HeadForm, length: string, id: string): string {
  const filled = lines.map((line) => line.replace(LENGTH_MARK, length).replace(ID_MARK, () => id))
  return `POST ${url} HTTP/1.1\r\n${filled.join('\r\n')}\r\n\r\n`
}
