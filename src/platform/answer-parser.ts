import { ChunkReader, type ChunkEvents } from './wire/chunk-reader.ts'

/** The head of an answer. */
export interface AnswerHead {
  statusCode: number
  statusMessage: string
  /** Name, value, name, value …, as they came. */
  rawHeaders: string[]
  /** By lower-case name; of several the last. */
  headers: Record<string, string>
  mayKeepAlive: boolean
  /** It comes in chunks, so that nobody knows its length beforehand. */
  isChunked: boolean
}

export interface AnswerEvents extends ChunkEvents {
  onHead(head: AnswerHead): void
  /** The answer is whole. */
  onEnd(): void
}

type State = 'head' | 'length' | 'chunks' | 'until close' | 'ended'

const MOST_HEAD_BYTES = 64 * 1024
const PROTOCOL = 'HTTP/1.'
const HEAD_END = Buffer.from('\r\n\r\n')

/**
 * Reads one HTTP/1.1 answer from the bytes of a connection, as strictly as a server's clients must: what could be read in
 * two ways is an error. Pieces of the body are passed on as they come, without being copied.
 */
export class AnswerParser {
  /** The connection may have another request after this answer. */
  mayKeepAlive = false
  readonly #events: AnswerEvents
  readonly #method: string
  #state: State = 'head'
  #held: Buffer | undefined
  #left = 0
  #chunks: ChunkReader | undefined

  constructor(method: string, events: AnswerEvents) {
    this.#method = method
    this.#events = events
  }

  get hasEnded(): boolean {
    return this.#state === 'ended'
  }

  /** Throws when the bytes are no answer. */
  push(bytes: Buffer): void {
    let input = this.#held === undefined ? bytes : Buffer.concat([this.#held, bytes])
    this.#held = undefined
    while (this.#state === 'head') {
      const used = this.#takeHead(input)
      if (used === 0) {
        this.#held = Buffer.from(input)
        return
      }
      input = input.subarray(used)
    }
    if (input.length > 0) this.#takeBody(input)
  }

  /** The connection has ended. False when the answer is not whole. */
  close(): boolean {
    if (this.#state === 'until close') this.#end()
    return this.#state === 'ended'
  }

  /** Returns how much of the input was used; 0 when more is needed. */
  #takeHead(input: Buffer): number {
    const at = input.indexOf(HEAD_END)
    if (at === -1 ? input.length > MOST_HEAD_BYTES : at > MOST_HEAD_BYTES) throw new Error('its head is too long')
    if (at === -1) {
      // Told at once: one who speaks something else may wait for us to go on.
      if (!PROTOCOL.startsWith(input.toString('latin1', 0, PROTOCOL.length)))
        throw new Error('it does not speak HTTP/1.1')
      return 0
    }
    const { head, next, length } = readHead(input.toString('latin1', 0, at), this.#method)
    // An answer before the answer (100, 103): the real one follows.
    if (head.statusCode >= 200) {
      this.#state = next
      this.#left = length
      this.mayKeepAlive = head.mayKeepAlive
      if (next === 'chunks') this.#chunks = new ChunkReader()
      this.#events.onHead(head)
      if (next === 'ended' || (next === 'length' && length === 0)) this.#end()
    } else if (head.statusCode === 101) throw new Error('it wants to speak another protocol')
    return at + HEAD_END.length
  }

  #takeBody(input: Buffer): void {
    if (this.#state === 'chunks') {
      const rest = this.#chunks!.push(input, this.#events)
      if (!rest) return
      this.#end()
      if (rest.length > 0) throw moreThanOne()
    } else if (this.#state === 'length') {
      const piece = input.length <= this.#left ? input : input.subarray(0, this.#left)
      this.#left -= piece.length
      this.#events.onBody(piece)
      if (this.#left === 0) this.#end()
      if (input.length > piece.length) throw moreThanOne()
    } else if (this.#state === 'until close') this.#events.onBody(input)
    else throw moreThanOne()
  }

  #end(): void {
    this.#state = 'ended'
    this.#events.onEnd()
  }
}

function moreThanOne(): Error {
  return new Error('more was sent than one answer')
}

const FIRST_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

function readHead(text: string, method: string): { head: AnswerHead; next: State; length: number } {
  let end = lineEnd(text, 0)
  const first = FIRST_LINE.exec(text.slice(0, end))
  if (!first) throw new Error('it does not speak HTTP/1.1')
  const rawHeaders: string[] = []
  const headers: Record<string, string> = Object.create(null) as Record<string, string>
  while (end < text.length) {
    const start = end + 2
    end = lineEnd(text, start)
    const colon = text.indexOf(':', start)
    const name = text.slice(start, Math.max(start, Math.min(colon, end)))
    if (!TOKEN.test(name)) throw new Error('a header has no name')
    const value = withoutSpaces(text, colon + 1, end)
    if (!VALUE.test(value)) throw new Error('a header holds what none may hold')
    const lower = name.toLowerCase()
    if (headers[lower] !== undefined && (lower === 'content-length' || lower === 'transfer-encoding')) {
      throw new Error('it says twice how long it is')
    }
    rawHeaders.push(name, value)
    headers[lower] = value
  }
  const statusCode = Number(first[2])
  const framing = framingOf(statusCode, method, headers)
  const connection = headers['connection']?.toLowerCase()
  const staysOpen =
    first[1] === '1'
      ? connection === undefined || !/\bclose\b/.test(connection)
      : connection !== undefined && /\bkeep-alive\b/.test(connection)
  const mayKeepAlive = staysOpen && framing.next !== 'until close'
  const isChunked = framing.next === 'chunks'
  return {
    head: { statusCode, statusMessage: first[3] ?? '', rawHeaders, headers, mayKeepAlive, isChunked },
    ...framing,
  }
}

/** Not `trim`, to which more is a space than there is in HTTP. */
function withoutSpaces(text: string, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && isSpace(text.charCodeAt(start))) start += 1
  while (end > start && isSpace(text.charCodeAt(end - 1))) end -= 1
  return text.slice(start, end)
}

function isSpace(character: number): boolean {
  return character === 0x20 || character === 0x09
}

function lineEnd(text: string, from: number): number {
  const at = text.indexOf('\r\n', from)
  return at === -1 ? text.length : at
}

function framingOf(status: number, method: string, headers: Record<string, string>): { next: State; length: number } {
  if (method === 'HEAD' || status === 204 || status === 304) return { next: 'ended', length: 0 }
  const encoding = headers['transfer-encoding']
  const length = headers['content-length']
  if (encoding !== undefined) {
    if (length !== undefined) throw new Error('it says both a length and chunks')
    if (encoding.toLowerCase() === 'chunked') return { next: 'chunks', length: 0 }
    throw new Error(`it sends "${encoding}"`)
  }
  if (length === undefined) return { next: 'until close', length: 0 }
  if (!/^\d{1,15}$/.test(length)) throw new Error('its length is no number')
  return { next: 'length', length: Number(length) }
}
