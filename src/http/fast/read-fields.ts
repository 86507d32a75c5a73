import { isIn, isSpace, TOKEN_CHARACTER, VALUE_CHARACTER } from './characters.ts'
import { fieldName, hashByte } from './field-names.ts'

export interface Fields {
  /** By lower-case name; the last value of several. */
  headers: Record<string, string | undefined>
  /** Name, value, name, value …, as they came. */
  rawHeaders: string[]
  /** A name occurs more than once. */
  hasTwice: boolean
}

/**
 * Reads the header lines from `start` to `end`; `text` holds the same as `bytes`. Undefined when a line is not a name of
 * token characters, a colon, a value of visible characters, CR and LF.
 */
export function readFields(bytes: Uint8Array, text: string, start: number, end: number): Fields | undefined {
  const headers = new KnownHeaders() as unknown as Fields['headers']
  const rawHeaders: string[] = []
  let hasTwice = false
  let at = start
  while (at < end) {
    const nameStart = at
    let hash = 0
    for (let byte = bytes[at]!; isIn(TOKEN_CHARACTER, byte); byte = bytes[at]!) {
      hash = hashByte(hash, byte)
      at += 1
    }
    if (at === nameStart || bytes[at] !== COLON) return undefined
    const { raw, lower } = fieldName(bytes, nameStart, at, hash)
    at += 1
    while (isSpace(bytes[at])) at += 1
    const valueStart = at
    while (isIn(VALUE_CHARACTER, bytes[at]!)) at += 1
    if (bytes[at] !== CR || bytes[at + 1] !== LF) return undefined
    let valueEnd = at
    while (valueEnd > valueStart && isSpace(bytes[valueEnd - 1])) valueEnd -= 1
    at += 2
    const value = text.slice(valueStart, valueEnd)
    if (headers[lower] !== undefined) hasTwice = true
    headers[lower] = value
    rawHeaders.push(raw, value)
  }
  return { headers, rawHeaders, hasTwice }
}

const [CR, LF, COLON] = [0x0d, 0x0a, 0x3a]

/**
 * The headers that handlers use exist from the start, so that all heads have one hidden class: filling and reading a
 * dictionary takes longer than parsing the head. It inherits nothing, because clients choose the names.
 */
class KnownHeaders {
  host = undefined
  connection = undefined
  'content-length' = undefined
  'content-type' = undefined
  'content-encoding' = undefined
  'transfer-encoding' = undefined
  authorization = undefined
  expect = undefined
  upgrade = undefined
  origin = undefined
  via = undefined
  forwarded = undefined
  'proxy-connection' = undefined
  'user-agent' = undefined
  accept = undefined
  'accept-encoding' = undefined
  'x-api-key' = undefined
  'x-forwarded-for' = undefined
  'x-real-ip' = undefined
  'x-request-id' = undefined
  'x-session-id' = undefined
  'x-flotilla-wait' = undefined
  'x-flotilla-model' = undefined
  'x-flotilla-refusal' = undefined
  date = undefined
  server = undefined
}
Reflect.deleteProperty(KnownHeaders.prototype, 'constructor')
Object.setPrototypeOf(KnownHeaders.prototype, null)
