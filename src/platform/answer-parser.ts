/** The head of an answer, and how its body ends. */
export interface AnswerHead {
  statusCode: number
  statusMessage: string
  /** Name, value, name, value …, as they came. */
  rawHeaders: string[]
  /** By lower-case name; of several the last. */
  headers: Record<string, string>
  mayKeepAlive: boolean
}

export interface AnswerEvents {
  onHead: (head: AnswerHead) => void
  onBody: (piece: Buffer) => void
  /** The answer is whole. */
  onEnd: () => void
}

type State = 'head' | 'length' | 'chunk size' | 'chunk' | 'chunk end' | 'trailer' | 'until close' | 'ended'

const MOST_HEAD_BYTES = 64 * 1024
const MOST_SIZE_LINE = 1024
const HEAD_END = Buffer.from('\r\n\r\n')
const LINE_END = Buffer.from('\r\n')

/**
 * Reads one HTTP/1.1 answer from the bytes of a connection, as strictly as a server's clients must: what could be read in
 * two ways is an error. Pieces of the body are passed on as they come, without being copied.
 */
export class AnswerParser {
  readonly #events: AnswerEvents
  readonly #method: string
  #state: State = 'head'
  #held: Buffer | undefined
  #left = 0

  constructor(method: string, events: AnswerEvents) {
    this.#method = method
    this.#events = events
  }

  /** Throws when the bytes are no answer. */
  push(bytes: Buffer): void {
    let input = this.#held === undefined ? bytes : Buffer.concat([this.#held, bytes])
    this.#held = undefined
    while (input.length > 0 && this.#state !== 'ended') {
      const used = this.#take(input)
      if (used === 0) {
        this.#held = input
        return
      }
      input = input.subarray(used)
    }
    if (this.#state === 'ended' && input.length > 0) throw new Error('more was sent than one answer')
  }

  /** The connection has ended. False when the answer is not whole. */
  close(): boolean {
    if (this.#state === 'until close') this.#end()
    return this.#state === 'ended'
  }

  /** Returns how much of the input was used; 0 when more is needed. */
  #take(input: Buffer): number {
    switch (this.#state) {
      case 'head':
        return this.#takeHead(input)
      case 'length':
      case 'chunk':
        return this.#takeBody(input)
      case 'chunk size':
        return this.#takeSize(input)
      case 'chunk end':
        return this.#takeChunkEnd(input)
      case 'trailer':
        return this.#takeTrailer(input)
      case 'until close':
        this.#events.onBody(input)
        return input.length
      case 'ended':
        return 0
    }
  }

  #takeHead(input: Buffer): number {
    const at = input.indexOf(HEAD_END)
    if (at === -1 ? input.length > MOST_HEAD_BYTES : at > MOST_HEAD_BYTES) throw new Error('its head is too long')
    if (at === -1) return 0
    const { head, next, length } = readHead(input.toString('latin1', 0, at), this.#method)
    // An answer before the answer (100, 103): the real one follows.
    if (head.statusCode >= 200) {
      this.#state = next
      this.#left = length
      this.#events.onHead(head)
      if (next === 'ended' || (next === 'length' && length === 0)) this.#end()
    } else if (head.statusCode === 101) throw new Error('it wants to speak another protocol')
    return at + HEAD_END.length
  }

  #takeBody(input: Buffer): number {
    const piece = input.length <= this.#left ? input : input.subarray(0, this.#left)
    this.#left -= piece.length
    this.#events.onBody(piece)
    if (this.#left === 0) {
      if (this.#state === 'chunk') this.#state = 'chunk end'
      else this.#end()
    }
    return piece.length
  }

  #takeSize(input: Buffer): number {
    const at = input.indexOf(LINE_END)
    if (at === -1 ? input.length > MOST_SIZE_LINE : at > MOST_SIZE_LINE) throw new Error('a chunk has no size')
    if (at === -1) return 0
    const digits = /^([0-9a-f]{1,12})[ \t]*(?:;.*)?$/i.exec(input.toString('latin1', 0, at))?.[1]
    if (digits === undefined) throw new Error('a chunk has no size')
    this.#left = Number.parseInt(digits, 16)
    this.#state = this.#left === 0 ? 'trailer' : 'chunk'
    return at + LINE_END.length
  }

  #takeChunkEnd(input: Buffer): number {
    if (input.length < 2) return 0
    if (input[0] !== 0x0d || input[1] !== 0x0a) throw new Error('a chunk is longer than it said')
    this.#state = 'chunk size'
    return 2
  }

  #takeTrailer(input: Buffer): number {
    const at = input.indexOf(LINE_END)
    if (at === -1 ? input.length > MOST_HEAD_BYTES : at > MOST_HEAD_BYTES) throw new Error('its trailer is too long')
    if (at === -1) return 0
    if (at === 0) this.#end()
    return at + LINE_END.length
  }

  #end(): void {
    this.#state = 'ended'
    this.#events.onEnd()
  }
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

function readHead(text: string, method: string): { head: AnswerHead; next: State; length: number } {
  const lines = text.split('\r\n')
  const first = /^HTTP\/1\.([01]) (\d{3})(?: (.*))?$/.exec(lines[0]!)
  if (!first) throw new Error('it does not speak HTTP/1.1')
  const rawHeaders: string[] = []
  const headers: Record<string, string> = Object.create(null) as Record<string, string>
  for (let i = 1; i < lines.length; i += 1) {
    const line = lines[i]!
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(0, colon))
    if (!TOKEN.test(name)) throw new Error('a header has no name')
    const value = line.slice(colon + 1).trim()
    const lower = name.toLowerCase()
    if (lower === 'content-length' && headers[lower] !== undefined && headers[lower] !== value) {
      throw new Error('it says two lengths')
    }
    rawHeaders.push(name, value)
    headers[lower] = value
  }
  const statusCode = Number(first[2])
  const framing = framingOf(statusCode, method, headers)
  const connection = headers['connection']?.toLowerCase() ?? ''
  const staysOpen = first[1] === '1' ? !/\bclose\b/.test(connection) : /\bkeep-alive\b/.test(connection)
  const mayKeepAlive = staysOpen && framing.next !== 'until close'
  return { head: { statusCode, statusMessage: first[3] ?? '', rawHeaders, headers, mayKeepAlive }, ...framing }
}

function framingOf(status: number, method: string, headers: Record<string, string>): { next: State; length: number } {
  if (method === 'HEAD' || status === 204 || status === 304) return { next: 'ended', length: 0 }
  const encoding = headers['transfer-encoding']
  const length = headers['content-length']
  if (encoding !== undefined) {
    if (length !== undefined) throw new Error('it says both a length and chunks')
    if (encoding.toLowerCase() === 'chunked') return { next: 'chunk size', length: 0 }
    throw new Error(`it sends "${encoding}"`)
  }
  if (length === undefined) return { next: 'until close', length: 0 }
  if (!/^\d{1,15}$/.test(length)) throw new Error('its length is no number')
  return { next: 'length', length: Number(length) }
}
