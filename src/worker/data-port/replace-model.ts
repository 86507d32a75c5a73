/**
 * The same JSON object with `model` in the place of its top-level "model", and every other byte as it was: numbers that
 * JavaScript cannot hold, spaces, whatever. Anything else than a JSON object is returned as it is; so is one without a
 * "model".
 */
export function replaceModel(body: Buffer, model: string): Buffer {
  const parts: Buffer[] = []
  let from = 0
  for (const [start, end] of modelValues(body)) {
    parts.push(body.subarray(from, start), Buffer.from(JSON.stringify(model)))
    from = end
  }
  return parts.length === 0 ? body : Buffer.concat([...parts, body.subarray(from)])
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const COMMA = 0x2c
const [OPEN_OBJECT, OPEN_LIST] = [0x7b, 0x5b]
const [CLOSE_OBJECT, CLOSE_LIST] = [0x7d, 0x5d]

/**
 * Where the values of top-level keys "model" begin and end. There may be several: which one counts is for the engine to
 * say, so none is left out.
 */
function modelValues(body: Buffer): [start: number, end: number][] {
  const values: [number, number][] = []
  let at = skipSpaces(body, body.subarray(0, 3).equals(BYTE_ORDER_MARK) ? 3 : 0)
  if (body[at] !== OPEN_OBJECT) return []
  at = skipSpaces(body, at + 1)
  while (body[at] === QUOTE) {
    const keyEnd = endOfString(body, at)
    const colon = skipSpaces(body, keyEnd)
    if (body[colon] !== COLON) return []
    const start = skipSpaces(body, colon + 1)
    const end = endOfValue(body, start)
    if (keyText(body, at, keyEnd) === 'model') values.push([start, end])
    at = skipSpaces(body, end)
    if (body[at] === COMMA) at = skipSpaces(body, at + 1)
  }
  // An object that does not end was cut or is none.
  return body[at] === CLOSE_OBJECT ? values : []
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

function skipSpaces(body: Buffer, at: number): number {
  while (isSpace(body[at])) at += 1
  return at
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

/** A key may be written with escapes. */
function keyText(body: Buffer, start: number, end: number): string | undefined {
  // "model" with every letter escaped is 32 bytes long; longer keys are others.
  if (end - start > 32) return undefined
  try {
    return JSON.parse(body.toString('utf8', start, end)) as string
  } catch {
    return undefined
  }
}

/** Just after the value that begins at `at`. */
function endOfValue(body: Buffer, at: number): number {
  let depth = 0
  while (at < body.length) {
    const byte = body[at]!
    if (byte === QUOTE) {
      at = endOfString(body, at)
      if (depth === 0) return at
      continue
    }
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth += 1
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      // The end of the object around a number, true, false or null; or of this value.
      if (depth === 0) return at
      depth -= 1
      if (depth === 0) return at + 1
    } else if (depth === 0 && (byte === COMMA || isSpace(byte))) return at
    at += 1
  }
  return at
}

/** Just after the quote that ends the string. Jumps from quote to quote: an image can be megabytes of one string. */
function endOfString(body: Buffer, start: number): number {
  for (let quote = body.indexOf(QUOTE, start + 1); quote !== -1; quote = body.indexOf(QUOTE, quote + 1)) {
    let escapes = 0
    while (body[quote - 1 - escapes] === BACKSLASH) escapes += 1
    if (escapes % 2 === 0) return quote + 1
  }
  return body.length
}
