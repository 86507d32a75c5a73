import { areBytesAt } from '../fast/path/bytes-at.ts'
import { isIn, VALUE_CHARACTER } from '../fast/characters.ts'
import { ChunkReader, type ChunkEvents } from '../fast/chunk-reader.ts'
import { readFields } from '../fast/read-fields.ts'

/** The head of an answer. */
export interface AnswerHead {
  statusCode: number
  statusMessage: string
  /** Name, value, name, value …, as they came. */
  rawHeaders: string[]
  /** By lower-case name; the last value of several. */
  headers: Record<string, string | undefined>
  mayKeepAlive: boolean
  /** The body comes in chunks, so its length is not known beforehand. */
  isChunked: boolean
}

export interface AnswerEvents extends ChunkEvents {
  onHead(head: AnswerHead): void
  /** The answer is complete. */
  onEnd(): void
}

type State = 'head' | 'length' | 'chunks' | 'until close' | 'ended'

const MOST_HEAD_BYTES = 64 * 1024
/** Interim answers (1xx); engines send one or two. */
const MOST_INTERIM = 20
const PROTOCOL = 'HTTP/1.'
const HEAD_END = Buffer.from('\r\n\r\n')

/**
 * Reads one HTTP/1.1 answer from the bytes of a connection. It is strict: an ambiguous answer is an error. Pieces of the
 * body are reported as they come, without a copy.
 */
export class AnswerParser {
  /** The connection may carry another request after this answer. */
  mayKeepAlive = false
  /** The answer came in chunks. */
  isChunked = false
  readonly #events: AnswerEvents
  readonly #method: string
  #state: State = 'head'
  #held: Buffer | undefined
  #interim = 0
  #left = 0
  #chunks: ChunkReader | undefined

  constructor(method: string, events: AnswerEvents) {
    this.#method = method
    this.#events = events
  }

  /** A head has arrived in part. */
  get isInHead(): boolean {
    return this.#held !== undefined && this.#held.length > 0
  }

  get hasEnded(): boolean {
    return this.#state === 'ended'
  }

  /** Throws when the bytes are not a valid answer. */
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

  /** The connection has ended. False when the answer is incomplete. */
  close(): boolean {
    if (this.#state === 'until close') this.#end()
    return this.#state === 'ended'
  }

  /** Returns how many bytes were used; 0 when more are needed. */
  #takeHead(input: Buffer): number {
    const read = readHead(input, this.#method)
    if (!read) {
      if (input.length > MOST_HEAD_BYTES) throw tooLong()
      // Checked at once: a server of another protocol may send no more until we answer.
      if (!PROTOCOL.startsWith(input.toString('latin1', 0, PROTOCOL.length))) throw notHttp()
      return 0
    }
    const { head, next, length } = read
    // Below 200 it is an interim answer (100, 103), and the final one follows.
    if (head.statusCode >= 200) {
      this.#state = next
      this.#left = length
      this.mayKeepAlive = head.mayKeepAlive
      this.isChunked = head.isChunked
      if (next === 'chunks') this.#chunks = new ChunkReader()
      this.#events.onHead(head)
      if (next === 'ended' || (next === 'length' && length === 0)) this.#end()
      return read.end
    }
    this.#interim += 1
    if (this.#interim > MOST_INTERIM) throw new Error(`it sent more than ${MOST_INTERIM} interim answers`)
    if (head.statusCode === 101) throw new Error('it switched to another protocol')
    if (!head.mayKeepAlive) throw new Error('it announced the end of the connection before its answer')
    return read.end
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

/** The beginning of an answer to a POST, parsed from `bytes`. */
export interface AnswerStart {
  head: AnswerHead
  bytes: Buffer
  bodyAt: number
  /** The answer has a Content-Length and has arrived completely. */
  isWhole: boolean
}

/** Undefined when the bytes are not an answer, or its head is incomplete. */
export function answerStart(bytes: Buffer): AnswerStart | undefined {
  try {
    const read = readHead(bytes, 'POST')
    if (!read || read.head.statusCode < 200) return undefined
    const { head, next, length, end } = read
    return { head, bytes, bodyAt: end, isWhole: next === 'length' && end + length === bytes.length }
  } catch {
    return undefined
  }
}

function moreThanOne(): Error {
  return new Error('it sent more than one answer')
}

interface HeadRead {
  head: AnswerHead
  next: State
  length: number
  /** Where the head ends. */
  end: number
}

/**
 * The head of the last chunked answer of any upstream. Engines of a kind begin all their streams with the same bytes, and
 * the same bytes mean the same.
 */
let lastChunked: { bytes: Buffer; read: HeadRead } | undefined

/** The head at the beginning of `bytes`; undefined when it is incomplete. */
function readHead(bytes: Buffer, method: string): HeadRead | undefined {
  if (method !== 'HEAD' && lastChunked && areBytesAt(bytes, 0, lastChunked.bytes)) return lastChunked.read
  const at = bytes.indexOf(HEAD_END)
  if (at === -1) return undefined
  if (at > MOST_HEAD_BYTES) throw tooLong()
  const read = readNewHead(bytes, at, method)
  if (read.next === 'chunks') lastChunked = { bytes: Buffer.from(bytes.subarray(0, read.end)), read }
  return read
}

function tooLong(): Error {
  return new Error('its head is too long')
}

function readNewHead(bytes: Buffer, at: number, method: string): HeadRead {
  const text = bytes.toString('latin1', 0, at + 2)
  const firstEnd = text.indexOf('\r\n')
  const statusCode = statusOf(bytes, text, firstEnd)
  const fields = readFields(bytes, text, firstEnd + 2, at + 2)
  if (!fields) throw new Error('one of its headers is malformed')
  const { headers, rawHeaders } = fields
  if (fields.hasTwice && LENGTHS.some((name) => valuesIn(rawHeaders, name).length > 1)) {
    throw new Error('it gives its length twice')
  }
  const { next, length, isOpen } = framingOf(statusCode, method, headers)
  const wish = fields.hasTwice ? valuesIn(rawHeaders, 'connection').join() : headers['connection']
  const mayKeepAlive = isOpen && staysOpen(bytes[7]! - ZERO, wish)
  const statusMessage = text.slice(REASON_AT, firstEnd)
  return {
    head: { statusCode, statusMessage, rawHeaders, headers, mayKeepAlive, isChunked: next === 'chunks' },
    next,
    length,
    end: at + HEAD_END.length,
  }
}

const LENGTHS = ['content-length', 'transfer-encoding']
const [ZERO, SPACE] = [0x30, 0x20]
/** Where the reason begins, in `HTTP/1.1 200 OK`; it may be missing, and so may the space before it. */
const REASON_AT = 'HTTP/1.1 200 '.length

function statusOf(bytes: Buffer, text: string, end: number): number {
  const isVersion = text.startsWith(PROTOCOL) && (bytes[7] === ZERO || bytes[7] === ZERO + 1) && bytes[8] === SPACE
  const hundreds = bytes[9]! - ZERO
  const tens = bytes[10]! - ZERO
  const ones = bytes[11]! - ZERO
  const isStatus = isDigit(hundreds) && hundreds > 0 && isDigit(tens) && isDigit(ones)
  if (!isVersion || !isStatus || end < 12 || (end > 12 && bytes[12] !== SPACE)) throw notHttp()
  for (let i = REASON_AT; i < end; i += 1) if (!isIn(VALUE_CHARACTER, bytes[i]!)) throw notHttp()
  return hundreds * 100 + tens * 10 + ones
}

function isDigit(value: number): boolean {
  return value >= 0 && value <= 9
}

function notHttp(): Error {
  return new Error('it does not speak HTTP/1.1')
}

function valuesIn(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]!.toLowerCase() === name)
}

/** `close` overrides `keep-alive`, wherever it stands in the list. */
function staysOpen(minor: number, connection = ''): boolean {
  if (connection === '') return minor === 1
  const wishes = connection.toLowerCase().split(/[\t ]*,[\t ]*/)
  return !wishes.includes('close') && (minor === 1 || wishes.includes('keep-alive'))
}

interface Framing {
  next: State
  length: number
  /** The body ends before the connection does. */
  isOpen: boolean
}

/** The framing headers must be valid even where there is no body: an invalid one means a broken upstream. */
function framingOf(status: number, method: string, headers: AnswerHead['headers']): Framing {
  const told = toldFraming(headers)
  if (status < 200 || status === 204 || status === 304) return { next: 'ended', length: 0, isOpen: true }
  // An upstream that ends bodies by closing may close after the answer to a HEAD, too.
  return method === 'HEAD' ? { next: 'ended', length: 0, isOpen: told.isOpen } : told
}

function toldFraming(headers: AnswerHead['headers']): Framing {
  const encoding = headers['transfer-encoding']
  const length = headers['content-length']
  if (encoding !== undefined) {
    if (length !== undefined) throw new Error('it has both a Content-Length and a Transfer-Encoding')
    if (encoding.toLowerCase() === 'chunked') return { next: 'chunks', length: 0, isOpen: true }
    throw new Error(`its Transfer-Encoding "${encoding}" is not supported`)
  }
  if (length === undefined) return { next: 'until close', length: 0, isOpen: false }
  if (!/^\d{1,15}$/.test(length)) throw new Error('its Content-Length is not a number')
  return { next: 'length', length: Number(length), isOpen: true }
}
