/** What the body of a request says about where it goes. */
export interface PlainFields {
  model: string
  user: string | undefined
  isStream: boolean
}

/** Deeper nesting is for a real parser. */
const MOST_DEPTH = 32
const MOST_CHARS = 1024

/**
 * Finds in the JSON object from `start` to the end of `bytes` what says where it goes, without making anything of the
 * rest. The whole of it is read as strictly as `JSON.parse` does. Undefined means nothing but that it is to be parsed
 * properly: it may be wrong, or these fields may be there twice, with escapes, or of another type.
 */
export function plainFields(bytes: Uint8Array, start: number): PlainFields | undefined {
  let at = afterSpace(bytes, start)
  if (bytes[at] !== OPEN) return undefined
  let model: string | undefined
  let user: string | undefined
  let stream: boolean | undefined
  do {
    const name = afterSpace(bytes, at + 1)
    const nameEnd = bytes[name] === QUOTE ? afterPlain(bytes, name + 1) : -1
    if (nameEnd === -1) return undefined
    const colon = afterSpace(bytes, nameEnd)
    if (bytes[colon] !== COLON) return undefined
    const value = afterSpace(bytes, colon + 1)
    const end = afterValue(bytes, value, 1)
    if (end === -1) return undefined
    const isModel = isName(bytes, name, nameEnd, MODEL)
    if (isModel || isName(bytes, name, nameEnd, USER)) {
      // Found by one call for both: a request with a user is read by what was compiled for those without.
      const text = knownText(bytes, value, end)
      if (text === undefined || (isModel ? model !== undefined || text === '' : user !== undefined)) return undefined
      if (isModel) model = text
      else user = text
    } else if (isName(bytes, name, nameEnd, STREAM)) {
      if (stream !== undefined || (bytes[value] !== T && bytes[value] !== F)) return undefined
      stream = bytes[value] === T
    } else if (isName(bytes, name, nameEnd, METADATA)) return undefined
    at = afterSpace(bytes, end)
  } while (bytes[at] === COMMA)
  if (bytes[at] !== CLOSE || afterSpace(bytes, at + 1) !== bytes.length || model === undefined) return undefined
  return { model, user: user === '' ? undefined : user, isStream: stream === true }
}

const codeOf = (character: string): number => character.charCodeAt(0)
const [OPEN, CLOSE, OPEN_LIST, CLOSE_LIST] = [codeOf('{'), codeOf('}'), codeOf('['), codeOf(']')]
const [QUOTE, BACKSLASH, COLON, COMMA] = [codeOf('"'), codeOf('\\'), codeOf(':'), codeOf(',')]
const [MINUS, PLUS, POINT, ZERO, NINE] = [codeOf('-'), codeOf('+'), codeOf('.'), codeOf('0'), codeOf('9')]
const [T, F, N, U] = [codeOf('t'), codeOf('f'), codeOf('n'), codeOf('u')]
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const [MODEL, USER, STREAM, METADATA] = [bytesOf('model'), bytesOf('user'), bytesOf('stream'), bytesOf('metadata')]
const [TRUE, FALSE, NULL] = [bytesOf('true'), bytesOf('false'), bytesOf('null')]

const IS_SPACE = Uint8Array.from({ length: 256 }, (_, byte) => Number([0x20, 0x0a, 0x0d, 0x09].includes(byte)))
/** Bytes that stand for themselves in a string, and those that may follow a backslash. */
const IS_PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH),
)
const IS_ESCAPE = Uint8Array.from({ length: 256 }, (_, byte) => Number('"\\/bfnrt'.includes(String.fromCharCode(byte))))
const IS_HEX = Uint8Array.from({ length: 256 }, (_, byte) => Number(/^[0-9a-f]$/i.test(String.fromCharCode(byte))))

/** Never reads past the end: one out-of-bounds read makes all later reads slow. */
function afterSpace(bytes: Uint8Array, start: number): number {
  let at = start
  while (at < bytes.length && IS_SPACE[bytes[at]!] === 1) at += 1
  return at
}

/** After the quote that ends a string without escapes; -1 when it has some, or is none. */
function afterPlain(bytes: Uint8Array, start: number): number {
  let at = start
  while (IS_PLAIN[bytes[at]!] === 1) at += 1
  return bytes[at] === QUOTE ? at + 1 : -1
}

/** The same for any string. */
function afterString(bytes: Uint8Array, start: number): number {
  let at = start
  for (;;) {
    while (IS_PLAIN[bytes[at]!] === 1) at += 1
    if (bytes[at] === QUOTE) return at + 1
    if (bytes[at] !== BACKSLASH) return -1
    const next = bytes[at + 1]!
    if (IS_ESCAPE[next] === 1) at += 2
    else if (next === U && isHex(bytes, at + 2)) at += 6
    else return -1
  }
}

function isHex(bytes: Uint8Array, at: number): boolean {
  for (let i = at; i < at + 4; i += 1) if (IS_HEX[bytes[i]!] !== 1) return false
  return true
}

/** After the value that begins here; -1 when none does. */
function afterValue(bytes: Uint8Array, at: number, depth: number): number {
  switch (bytes[at]!) {
    case QUOTE:
      return afterString(bytes, at + 1)
    case OPEN:
      return depth < MOST_DEPTH ? afterObject(bytes, at, depth) : -1
    case OPEN_LIST:
      return depth < MOST_DEPTH ? afterList(bytes, at, depth) : -1
    case T:
      return isWord(bytes, at, TRUE) ? at + TRUE.length : -1
    case F:
      return isWord(bytes, at, FALSE) ? at + FALSE.length : -1
    case N:
      return isWord(bytes, at, NULL) ? at + NULL.length : -1
    default:
      return afterNumber(bytes, at)
  }
}

function afterObject(bytes: Uint8Array, start: number, depth: number): number {
  let at = afterSpace(bytes, start + 1)
  if (bytes[at] === CLOSE) return at + 1
  for (;;) {
    if (bytes[at] !== QUOTE) return -1
    const nameEnd = afterString(bytes, at + 1)
    if (nameEnd === -1) return -1
    const colon = afterSpace(bytes, nameEnd)
    if (bytes[colon] !== COLON) return -1
    const end = afterValue(bytes, afterSpace(bytes, colon + 1), depth + 1)
    if (end === -1) return -1
    at = afterSpace(bytes, end)
    if (bytes[at] === CLOSE) return at + 1
    if (bytes[at] !== COMMA) return -1
    at = afterSpace(bytes, at + 1)
  }
}

function afterList(bytes: Uint8Array, start: number, depth: number): number {
  let at = afterSpace(bytes, start + 1)
  if (bytes[at] === CLOSE_LIST) return at + 1
  for (;;) {
    const end = afterValue(bytes, at, depth + 1)
    if (end === -1) return -1
    at = afterSpace(bytes, end)
    if (bytes[at] === CLOSE_LIST) return at + 1
    if (bytes[at] !== COMMA) return -1
    at = afterSpace(bytes, at + 1)
  }
}

function afterNumber(bytes: Uint8Array, start: number): number {
  const first = bytes[start] === MINUS ? start + 1 : start
  let at = bytes[first] === ZERO ? first + 1 : afterDigits(bytes, first)
  if (at === -1) return -1
  if (bytes[at] === POINT) at = afterDigits(bytes, at + 1)
  if (at === -1 || (bytes[at]! | 0x20) !== codeOfE) return at
  const sign = bytes[at + 1]
  return afterDigits(bytes, sign === PLUS || sign === MINUS ? at + 2 : at + 1)
}

const codeOfE = codeOf('e')

/** -1 when there are none. */
function afterDigits(bytes: Uint8Array, start: number): number {
  let at = start
  while (bytes[at]! >= ZERO && bytes[at]! <= NINE) at += 1
  return at === start ? -1 : at
}

function isWord(bytes: Uint8Array, at: number, word: Uint8Array): boolean {
  for (let i = 0; i < word.length; i += 1) if (bytes[at + i] !== word[i]) return false
  return true
}

/** `start` and `end` are those of the name with its quotes. */
function isName(bytes: Uint8Array, start: number, end: number, name: Uint8Array): boolean {
  return end - start === name.length + 2 && isWord(bytes, start + 1, name)
}

/** Names of models and users that came before, each in the place that its bytes point to, until another wants it. */
const PLACES = 64
const known: ({ bytes: Uint8Array; text: string } | undefined)[] = Array.from({ length: PLACES })

/** The same as `plainText`. Few models are asked for, by few, and to compare bytes takes a fraction of making a text of them. */
function knownText(bytes: Uint8Array, start: number, end: number): string | undefined {
  const place = (end - start + 7 * bytes[start + 1]! + 31 * bytes[end - 2]!) % PLACES
  const found = known[place]
  if (found && found.bytes.length === end - start && isWord(bytes, start, found.bytes)) return found.text
  const text = plainText(bytes, start, end)
  if (text !== undefined) known[place] = { bytes: new Uint8Array(bytes.subarray(start, end)), text }
  return text
}

/** The string with quotes from `start` to `end`, if it is short and of plain ASCII. */
function plainText(bytes: Uint8Array, start: number, end: number): string | undefined {
  if (bytes[start] !== QUOTE || end - start > MOST_CHARS) return undefined
  let text = ''
  for (let i = start + 1; i < end - 1; i += 1) {
    const byte = bytes[i]!
    if (byte === BACKSLASH || byte >= 0x7f) return undefined
    text += String.fromCharCode(byte)
  }
  return text
}
