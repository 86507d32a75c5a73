import { areBytesAt } from './bytes-at.ts'

/**
 * The head of a message, to recognize it again. Clients, gateways and engines repeat their heads except for the length and
 * the request id; a head whose other bytes are the same means the same, and need not be parsed again.
 */
export class RepeatedHead {
  /** Of the last match: where the body begins, its length, and where the id begins and ends. */
  bodyAt = 0
  length = 0
  idAt = 0
  idEnd = 0
  readonly #start: Buffer
  readonly #parts: readonly Part[]

  /** `text` is a whole, valid head with its empty line. Undefined when it has no length, or a variable header twice. */
  static of(text: string): RepeatedHead | undefined {
    const found = [...text.matchAll(SPECIAL)].map((match) => ({
      name: match[1]!.toLowerCase() as Part['name'],
      value: match[2]!,
      at: match.index + match[0].length - match[2]!.length,
    }))
    const names = found.map(({ name }) => name)
    if (!names.includes('content-length') || new Set(names).size !== names.length) return undefined
    const parts = found.map(({ name, value, at }, i) => ({
      name,
      value: Buffer.from(value, 'latin1'),
      after: Buffer.from(text.slice(at + value.length, found[i + 1]?.at), 'latin1'),
    }))
    return new RepeatedHead(Buffer.from(text.slice(0, found[0]!.at), 'latin1'), parts)
  }

  private constructor(start: Buffer, parts: readonly Part[]) {
    this.#start = start
    this.#parts = parts
  }

  matches(bytes: Buffer): boolean {
    if (!areBytesAt(bytes, 0, this.#start)) return false
    let at = this.#start.length
    this.idEnd = 0
    for (const part of this.#parts) {
      const end = this.#read(bytes, at, part)
      if (end === -1 || !areBytesAt(bytes, end, part.after)) return false
      at = end + part.after.length
    }
    this.bodyAt = at
    return true
  }

  /** Where the value that begins at `from` ends; -1 when it does not match. */
  #read(bytes: Buffer, from: number, { name, value }: Part): number {
    if (name === 'content-length') return this.#readLength(bytes, from)
    if (name === 'x-request-id') return this.#readId(bytes, from)
    return isSame(bytes, from, value) ? from + value.length : -1
  }

  #readLength(bytes: Buffer, from: number): number {
    let at = from
    let length = 0
    for (let byte = bytes[at]!; byte >= ZERO && byte <= NINE; byte = bytes[at]!) {
      length = length * 10 + byte - ZERO
      at += 1
    }
    this.length = length
    return at === from || at - from > MOST_DIGITS ? -1 : at
  }

  #readId(bytes: Buffer, from: number): number {
    let at = from
    while (bytes[at]! > SPACE && bytes[at]! < DELETE) at += 1
    this.idAt = from
    this.idEnd = at
    return at === from || at - from > MOST_ID ? -1 : at
  }
}

/** The request id of the message that `head` has just matched, if it has one. */
export function idIn(bytes: Buffer, { idAt, idEnd }: RepeatedHead): string | undefined {
  return idEnd === 0 ? undefined : bytes.toString('latin1', idAt, idEnd)
}

/** A value that is checked by itself, and the bytes that follow it. */
interface Part {
  name: 'content-length' | 'x-request-id' | 'authorization' | 'x-api-key'
  value: Uint8Array
  after: Buffer
}

/** The headers whose values may differ each time, and those that are secret. */
const SPECIAL = /(?<=\r\n)(content-length|x-request-id|authorization|x-api-key):[ \t]*([^\r]*?)(?=[ \t]*\r\n)/gi
const [ZERO, NINE, SPACE, DELETE] = [0x30, 0x39, 0x20, 0x7f]
const MOST_DIGITS = 15
/** The longest request id that is taken from a client. */
const MOST_ID = 128

/** Compares in constant time, so that the time does not reveal how much of a key was right. */
function isSame(bytes: Uint8Array, from: number, secret: Uint8Array): boolean {
  let difference = 0
  for (let i = 0; i < secret.length; i += 1) difference |= bytes[from + i]! ^ secret[i]!
  return difference === 0
}
