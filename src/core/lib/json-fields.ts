/** Where a value begins, and where it has ended. */
export type Span = readonly [start: number, end: number]

/** What is done between two pauses takes a millisecond or so. */
const STEPS_BETWEEN_PAUSES = 100_000
/** In a string that goes on for longer than this it is quicker to jump to the next quote. */
const LONG_STRING_BYTES = 32

/**
 * Finds the values of some fields of a JSON object without parsing the rest, which may be megabytes. A field that is
 * there several times has several values. Undefined when this is no object, or one that does not end. The content of
 * other values is not checked.
 *
 * It yields now and then: a caller that must not block the event loop lets other work run there.
 */
export function* jsonFields(
  body: Uint8Array,
  names: readonly string[],
): Generator<void, Map<string, Span[]> | undefined> {
  const found = new Map<string, Span[]>()
  // As long as a name is with every letter escaped; longer keys are others.
  const longestKey = 2 + 6 * Math.max(...names.map((name) => name.length))
  let at = skipSpaces(body, hasByteOrderMark(body) ? 3 : 0)
  if (body[at] !== OPEN_OBJECT) return undefined
  at = skipSpaces(body, at + 1)
  let keys = 0
  while (body[at] === QUOTE) {
    const keyEnd = yield* endOfValue(body, at)
    const colon = skipSpaces(body, keyEnd)
    if (body[colon] !== COLON) return undefined
    const start = skipSpaces(body, colon + 1)
    const end = yield* endOfValue(body, start)
    const key = keyEnd - at <= longestKey ? keyText(body, at, keyEnd) : undefined
    if (key !== undefined && names.includes(key)) {
      const spans = found.get(key)
      if (spans) spans.push([start, end])
      else found.set(key, [[start, end]])
    }
    at = skipSpaces(body, end)
    if (body[at] === COMMA) at = skipSpaces(body, at + 1)
    keys += 1
    if (keys % KEYS_BETWEEN_PAUSES === 0) yield
  }
  // An object that does not end was cut or is none.
  return body[at] === CLOSE_OBJECT ? found : undefined
}

const KEYS_BETWEEN_PAUSES = 5000

/** Runs a scan to its end, without a pause. */
export function withoutPause<T>(scan: Generator<void, T>): T {
  for (;;) {
    const step = scan.next()
    if (step.done) return step.value
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const COMMA = 0x2c
const [OPEN_OBJECT, OPEN_LIST] = [0x7b, 0x5b]
const [CLOSE_OBJECT, CLOSE_LIST] = [0x7d, 0x5d]

function hasByteOrderMark(body: Uint8Array): boolean {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf
}

function skipSpaces(body: Uint8Array, at: number): number {
  while (isSpace(body[at])) at += 1
  return at
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

/** A key may be written with escapes. The names that are looked for are ASCII, so others need not be right. */
function keyText(body: Uint8Array, start: number, end: number): string | undefined {
  try {
    return JSON.parse(String.fromCharCode(...body.subarray(start, end))) as string
  } catch {
    return undefined
  }
}

/** Just after the value that begins at `at`. */
function* endOfValue(body: Uint8Array, at: number): Generator<void, number> {
  const place: Place = { at, depth: 0, isInString: false }
  while (!isBehindValue(body, place)) yield
  return place.at
}

interface Place {
  at: number
  depth: number
  isInString: boolean
}

/** Moves on until the value has ended, or for as long as one may without a pause. */
function isBehindValue(body: Uint8Array, place: Place): boolean {
  for (let steps = 0; steps < STEPS_BETWEEN_PAUSES; steps += 1) {
    const byte = body[place.at]
    if (byte === undefined) return true
    if (place.isInString && byte !== QUOTE) {
      place.at = moveInString(body, place.at)
      continue
    }
    if (byte === QUOTE) {
      place.at += 1
      place.isInString = !place.isInString
      if (!place.isInString && place.depth === 0) return true
      continue
    }
    const isClosing = byte === CLOSE_OBJECT || byte === CLOSE_LIST
    // The end of a number, true, false or null: a comma, a space, or the end of the object around it.
    if (place.depth === 0 && (isClosing || byte === COMMA || isSpace(byte))) return true
    place.at += 1
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) place.depth += 1
    else if (isClosing) {
      place.depth -= 1
      if (place.depth === 0) return true
    }
  }
  return false
}

/** To the next quote that is not escaped, or some of the way. An image can be megabytes of one string. */
function moveInString(body: Uint8Array, start: number): number {
  let at = start
  while (at < start + LONG_STRING_BYTES) {
    const byte = body[at]
    if (byte === QUOTE || byte === undefined) return at
    at += byte === BACKSLASH ? 2 : 1
  }
  const quote = body.indexOf(QUOTE, at)
  if (quote === -1) return body.length
  let escapes = 0
  while (quote - 1 - escapes >= at && body[quote - 1 - escapes] === BACKSLASH) escapes += 1
  return escapes % 2 === 0 ? quote : quote + 1
}
