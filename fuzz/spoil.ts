import fc from 'fast-check'

/** Bytes that nobody has thought about. */
export const anyBytes: fc.Arbitrary<Buffer> = fc
  .uint8Array({ maxLength: 200 })
  .map((bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))

/**
 * Things that were right, then spoiled in a few places: cut, doubled, flipped, with words of the grammar thrown in. Random
 * bytes are among them, but a parser refuses most of those at the first one; what is nearly right gets further.
 */
export function spoiled(samples: readonly (string | Buffer)[], words: readonly string[] = []): fc.Arbitrary<Buffer> {
  const sample = fc.constantFrom(...samples.map((one) => (typeof one === 'string' ? Buffer.from(one) : one)))
  const word = fc.constantFrom(...[...words, ...ODD_WORDS].map((one) => Buffer.from(one)))
  const change = fc.tuple(fc.constantFrom(...KINDS), fc.nat(1_000_000), fc.nat(255), word)
  const nearly = fc
    .tuple(sample, fc.array(change, { maxLength: 6 }))
    .map(([bytes, changes]) => changes.reduce((now, [kind, at, byte, what]) => apply(now, kind, at, byte, what), bytes))
  const made = fc
    .array(fc.oneof(word, fc.constantFrom(...PUNCTUATION)), { maxLength: 12 })
    .map((parts) => Buffer.concat(parts))
  return fc.oneof({ weight: 8, arbitrary: nearly }, { weight: 2, arbitrary: made }, { weight: 1, arbitrary: anyBytes })
}

/** What has surprised parsers before. */
const ODD_WORDS = [
  '',
  '\0',
  '\r\n',
  '\n',
  '\u2028',
  '\ud83d\ude00',
  '\x1b[31m',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'true',
  'NaN',
  '-1',
  '-0',
  '1e309',
  '9007199254740993',
  '18446744073709551616',
  '0x10',
  '00',
  '../',
  '%2e%2e%2f',
  '%00',
  '%',
  '[[[[[[[[[[[[[[[[',
  '{"a":{"a":{"a":{"a":',
  'a'.repeat(1000),
  ' '.repeat(500),
  '\t'.repeat(50),
]
const PUNCTUATION = '{}[]()<>"\'`,.:;=|!?*&#%/\\-+ \n\t09azAZ'.split('').map((one) => Buffer.from(one))

const KINDS = ['cut', 'drop', 'flip', 'set', 'insert', 'replace', 'double', 'repeat', 'swap'] as const
const MOST_BYTES = 64 * 1024

function apply(bytes: Buffer, kind: (typeof KINDS)[number], place: number, byte: number, word: Buffer): Buffer {
  const at = place % (bytes.length + 1)
  const span = Math.min(bytes.length - at, 1 + (byte % 16))
  const [before, inside, after] = [bytes.subarray(0, at), bytes.subarray(at, at + span), bytes.subarray(at + span)]
  switch (kind) {
    case 'cut':
      return before
    case 'drop':
      return Buffer.concat([before, after])
    case 'flip':
      return withByte(bytes, at, (bytes[at] ?? 0) ^ (1 << (byte % 8)))
    case 'set':
      return withByte(bytes, at, byte)
    case 'insert':
      return Buffer.concat([before, word, bytes.subarray(at)])
    case 'replace':
      return Buffer.concat([before, word, after])
    case 'double':
      return Buffer.concat([before, inside, inside, after])
    case 'repeat':
      return bytes.length * 2 > MOST_BYTES ? bytes : Buffer.concat([bytes, bytes])
    case 'swap':
      return Buffer.concat([inside, before, after])
  }
}

function withByte(bytes: Buffer, at: number, byte: number): Buffer {
  if (at >= bytes.length) return bytes
  const copy = Buffer.from(bytes)
  copy[at] = byte
  return copy
}
