import type { Socket } from 'node:net'
import type { AnswerHead } from '../upstream/answer-parser.ts'
import type { HttpResponse } from '../exchange.ts'
import { linesPassedOn, passOn, type Instead } from '../upstream/forward-headers.ts'
import { firstLine, IN_CHUNKS, lastLines, startOf } from './path/answer-head.ts'
import { Listeners } from './listeners.ts'
import type { WireRequest } from './fast-request.ts'

interface ResponseEvents {
  close: []
  finish: []
  drain: []
}

/** What a connection does for its answers. */
export interface Lane {
  readonly socket: Socket
  /** Whether this answer is the first one outstanding: only that one may write. */
  isTurnOf(response: WireResponse): boolean
  /** The answer has been written completely. */
  onFinished(response: WireResponse): void
  /** How long the connection is kept after this answer; 0 when it is closed. */
  keepAliveS(response: WireResponse): number
}

/** Pieces up to this length are copied into one string, because a write of several pieces costs more than the copy. */
const MOST_JOINED_BYTES = 16 * 1024
/** An answer may write this much before its turn; then `write` returns false. */
const MOST_HELD_BYTES = 16 * 1024

/** An answer of the fast server: the part of node:http's response that handlers need. */
export class WireResponse extends Listeners<ResponseEvents> implements HttpResponse {
  readonly req: WireRequest
  statusCode = 200
  statusMessage = ''
  headersSent = false
  writableEnded = false
  chunkedEncoding = false
  /** The head has been written, not only decided. Named as in node:http. */
  _headerSent = false
  /** The connection closes after it. */
  isLast: boolean
  readonly #lane: Lane
  /** Decided and not yet written: it goes out with the first piece. */
  #head = ''
  /** By lower-case name. */
  #fields: Map<string, string> | undefined
  #hasBody = true
  #hasDate = false
  /** Bytes still to come of the announced Content-Length. */
  #left: number | undefined
  #held: (string | Buffer)[] | undefined
  #heldBytes = 0
  #aheadBytes = 0

  constructor(req: WireRequest, lane: Lane, isLast: boolean) {
    super()
    this.req = req
    this.isLast = isLast
    this.#lane = lane
  }

  setHeader(name: string, value: string): this {
    this.#fields ??= new Map()
    this.#fields.set(name.toLowerCase(), value)
    return this
  }

  writeHead(status: number, message: string | Record<string, string>, headers: string[] = []): this {
    const given = typeof message === 'string' ? headers : Object.entries(message).flat()
    const reason = typeof message === 'string' ? message : ''
    const lines = this.#linesOf(this.#fields ? withDefaults(given, this.#fields) : given)
    return this.#begin(status, reason, firstLine(status, reason) + lines)
  }

  writePassedOn(head: AnswerHead, ours: Instead): this {
    const { statusCode, statusMessage, rawHeaders, headers } = head
    if (this.#fields) return this.writeHead(statusCode, statusMessage, passOn(rawHeaders, ours))
    const length = headers[LENGTH]
    this.#hasDate = headers['date'] !== undefined
    if (length !== undefined) this.#left = Number(length)
    const start = head.isChunked
      ? startOf(head, ours.names).toString('latin1') + ours.lines
      : firstLine(statusCode, statusMessage) + linesPassedOn(rawHeaders, ours)
    return this.#begin(statusCode, statusMessage, start)
  }

  /** The client already has the head and the first `aheadBytes` of chunks; neither is sent again. */
  goOnAfter({ statusCode, statusMessage }: AnswerHead, isLast: boolean, aheadBytes: number): void {
    this.statusCode = statusCode
    this.statusMessage = statusMessage
    this.isLast = isLast
    this.headersSent = true
    this._headerSent = true
    this.chunkedEncoding = true
    this.#aheadBytes = aheadBytes
  }

  write(given: string | Buffer): boolean {
    const piece = typeof given === 'string' ? Buffer.from(given) : given
    if (!this.headersSent) this.writeHead(this.statusCode, this.statusMessage)
    if (!this.#hasBody || piece.length === 0 || this.writableEnded) return true
    if (!this.chunkedEncoding) {
      this.#left! -= piece.length
      return this.#send('', piece, '')
    }
    return this.#send(`${piece.length.toString(16)}\r\n`, piece, '\r\n')
  }

  writeChunks(chunks: Buffer): boolean {
    if (this.chunkedEncoding) return this.#isAhead(chunks) || this.#send('', chunks, '')
    throw new Error('this answer is not sent in chunks')
  }

  endChunks(chunks: Buffer): this {
    this.writeChunks(chunks)
    this.writableEnded = true
    if (!this.#held) this.#finish()
    return this
  }

  end(given?: string | Buffer): this {
    if (this.writableEnded) return this
    const piece = typeof given === 'string' ? Buffer.from(given) : given
    if (!this.headersSent) {
      this.setHeader('Content-Length', String(piece?.length ?? 0))
      this.writeHead(this.statusCode, this.statusMessage)
    }
    if (piece) this.write(piece)
    this.writableEnded = true
    if (this.chunkedEncoding) this.#send('0\r\n\r\n', undefined, '')
    else this.flushHeaders()
    // The body does not match the announced length, so the connection cannot be used any more.
    if (this.#hasBody && this.#left !== undefined && this.#left !== 0) return this.destroy()
    if (!this.#held) this.#finish()
    return this
  }

  flushHeaders(): void {
    if (!this.headersSent) this.writeHead(this.statusCode, this.statusMessage)
    if (this.#head !== '') this.#send('', undefined, '')
  }

  writeContinue(): void {
    const { socket } = this.#lane
    if (!this.headersSent && this.#lane.isTurnOf(this) && socket.writable) socket.write(CONTINUE, 'latin1')
  }

  destroy(): this {
    this.#lane.socket.destroy()
    return this
  }

  /** The answers before this one have ended: writes what was held until now. */
  onTurn(): void {
    const held = this.#held
    this.#held = undefined
    this.#heldBytes = 0
    for (const piece of held ?? []) this.#put(piece)
    if (this.writableEnded) this.#finish()
    else if (held) this.emit('drain')
  }

  /** `start` are the lines so far; date, framing and connection lines are added. */
  #begin(status: number, reason: string, start: string): this {
    this.statusCode = status
    this.statusMessage = reason
    this.#hasBody = status !== 204 && status !== 304
    this.chunkedEncoding = this.#left === undefined && this.#hasBody
    const keepS = this.isLast ? 0 : this.#lane.keepAliveS(this)
    this.isLast = keepS === 0
    this.headersSent = true
    this.#head = start + lastLines(this.#hasDate, this.chunkedEncoding ? IN_CHUNKS : '', keepS)
    return this
  }

  #isAhead(chunks: Buffer): boolean {
    const isAhead = this.#aheadBytes === chunks.length
    this.#aheadBytes = 0
    return isAhead
  }

  /** Makes the lines, and notes what the fields say about the body and the connection. */
  #linesOf(fields: readonly string[]): string {
    let lines = ''
    for (let i = 0; i < fields.length; i += 2) {
      const name = fields[i]!
      const value = fields[i + 1]!
      if (LINE_BREAK.test(value)) throw new Error(`the header ${name} has a line break in it`)
      if (name.length === 10 && name.toLowerCase() === 'connection') {
        this.isLast ||= value === 'close'
        continue
      }
      if (name.length === 4 && name.toLowerCase() === 'date') this.#hasDate = true
      if (name.length === LENGTH.length && name.toLowerCase() === LENGTH) this.#left = Number(value)
      lines += `${name}: ${value}\r\n`
    }
    return lines
  }

  /** Writes whole chunks only, so that something may be written between chunks at any time. */
  #send(before: string, piece: Buffer | undefined, after: string): boolean {
    const start = this.#head + before
    this.#head = ''
    if (!piece) return this.#put(start)
    if (piece.length <= MOST_JOINED_BYTES) return this.#put(`${start}${piece.toString('latin1')}${after}`)
    const { socket } = this.#lane
    socket.cork()
    if (start !== '') this.#put(start)
    let isTaken = this.#put(Buffer.from(piece))
    if (after !== '') isTaken = this.#put(after)
    socket.uncork()
    return isTaken
  }

  #put(piece: string | Buffer): boolean {
    const { socket } = this.#lane
    if (!this.#lane.isTurnOf(this)) {
      this.#held ??= []
      this.#held.push(piece)
      this.#heldBytes += piece.length
      return this.#heldBytes < MOST_HELD_BYTES
    }
    this._headerSent = true
    if (!socket.writable) return true
    return typeof piece === 'string' ? socket.write(piece, 'latin1') : socket.write(piece)
  }

  /** Emits `finish` once the operating system has taken the last byte. */
  #finish(): void {
    const { socket } = this.#lane
    const finish = (): void => {
      if (socket.destroyed) return
      this.emit('finish')
      this.#lane.onFinished(this)
      this.emit('close')
    }
    if (socket.writableLength === 0) finish()
    else socket.write('', finish)
  }
}

const LENGTH = 'content-length'

/** Fields given with the head override those set before. */
function withDefaults(given: readonly string[], defaults: ReadonlyMap<string, string>): string[] {
  const names = new Set(given.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase()))
  return [...given, ...[...defaults].filter(([name]) => !names.has(name)).flat()]
}

/** Text after a line break would be read as another header, or as a body. */
const LINE_BREAK = /[\r\n\0]/
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
