import { Message } from './message.ts'
import { C, CR, H, isPub, LF, LOWER, P, readName, readSize, SPACE, TAB } from './wire.ts'

/**
 * The client half of the NATS protocol, from bytes to calls. Chunks may be cut anywhere. Messages are the hot path:
 * they are found without making a string of anything but the subject, and their bytes are not copied unless a chunk
 * ends inside them.
 */
export interface Operations {
  connect(json: string): void
  /** `message` is only valid during the call: the parser reuses it. */
  publish(message: Message): void
  subscribe(subject: string, queue: string, sid: string): void
  /** `max` 0 is at once. */
  unsubscribe(sid: string, max: number): void
  ping(): void
  pong(): void
  /** The stream cannot be understood from here on; the parser takes no more. */
  failed(problem: Problem): void
}

export type Problem =
  | 'unknown operation'
  | 'bad arguments'
  | 'control line too long'
  | 'payload too large'
  | 'not connected'
  | 'error from client'

export interface ParserLimits {
  readonly maxPayloadBytes: number
  readonly maxControlLineBytes: number
}

export class Parser {
  /** While set, anything but CONNECT is refused by its first byte. */
  connectFirst = false
  readonly #operations: Operations
  readonly #limits: ParserLimits
  readonly #message = new Message()
  /** The arguments of the line last scanned. */
  readonly #starts = new Int32Array(MAX_ARGUMENTS)
  readonly #ends = new Int32Array(MAX_ARGUMENTS)
  #count = 0
  /** An operation that its chunk did not hold to the end: `#heldBytes` of `#held` are filled. */
  #held: Buffer | undefined
  #heldBytes = 0
  /** How long the held operation is; 0 while its line is not complete. */
  #wholeBytes = 0
  #stopped = false

  constructor(operations: Operations, limits: ParserLimits) {
    this.#operations = operations
    this.#limits = limits
  }

  push(chunk: Buffer): void {
    if (this.#stopped) return
    if (!this.#held) return this.#run(chunk, 0)
    if (this.#wholeBytes === 0) {
      const joined = Buffer.concat([this.#held, chunk])
      this.#held = undefined
      return this.#run(joined, 0)
    }
    const taken = chunk.copy(this.#held, this.#heldBytes)
    this.#heldBytes += taken
    if (this.#heldBytes < this.#wholeBytes) return
    const whole = this.#held
    this.#held = undefined
    this.#run(whole, 0)
    this.#run(chunk, taken)
  }

  /** Takes no more, not even the rest of the chunk at hand. */
  stop(): void {
    this.#stopped = true
    this.#held = undefined
  }

  #run(bytes: Buffer, from: number): void {
    let at = from
    while (at < bytes.length && !this.#stopped) {
      const next = this.#operation(bytes, at)
      if (next === INCOMPLETE) return
      at = next
    }
  }

  /** Handles the operation that starts at `at`; returns where the next one starts. */
  #operation(bytes: Buffer, at: number): number {
    const first = bytes[at]! | LOWER
    if (this.connectFirst && first !== C) return this.#fail('not connected')
    if (at + 5 < bytes.length) {
      if (first === P && isPub(bytes, at)) return this.#publish(bytes, at, at + 4, false)
      if (first === H && isPub(bytes, at + 1)) return this.#publish(bytes, at, at + 5, true)
    }
    return this.#otherOperation(bytes, at)
  }

  #publish(bytes: Buffer, at: number, argumentsAt: number, withHeaders: boolean): number {
    const lineEnd = this.#scan(bytes, argumentsAt)
    if (lineEnd < 0) return this.#holdLine(bytes, at, argumentsAt)
    const count = this.#count
    if (lineEnd - argumentsAt > this.#limits.maxControlLineBytes + CRLF_BYTES)
      return this.#fail('control line too long')
    const sizes = withHeaders ? 2 : 1
    if (count !== sizes + 1 && count !== sizes + 2) return this.#fail('bad arguments')
    const starts = this.#starts
    const ends = this.#ends
    const size = readSize(bytes, starts[count - 1]!, ends[count - 1]!)
    const headerBytes = withHeaders ? readSize(bytes, starts[count - 2]!, ends[count - 2]!) : 0
    if (size < 0 || headerBytes < 0 || headerBytes > size) return this.#fail('bad arguments')
    if (size > this.#limits.maxPayloadBytes) return this.#fail('payload too large')

    const end = lineEnd + size + CRLF_BYTES
    if (end > bytes.length) return this.#holdMessage(bytes, at, end)
    if (bytes[end - 2] !== CR || bytes[end - 1] !== LF) return this.#fail('unknown operation')

    const message = this.#message
    const subject = bytes.toString('latin1', starts[0], ends[0])
    const hasReply = count === sizes + 2
    if (this.#isPlain(bytes, lineEnd) && headerBytes > 0 === withHeaders) {
      message.set(subject, bytes, starts[1]!, hasReply ? ends[1]! : starts[1]!)
      message.bodyStart = lineEnd
      message.end = end
    } else {
      // Tabs, double spaces, no CR or headers of no bytes: legal and rare, so it is written anew as usual.
      const reply = hasReply ? bytes.toString('latin1', starts[1], ends[1]) : ''
      const head = `${reply === '' ? '' : `${reply} `}${headerBytes > 0 ? `${headerBytes} ` : ''}${size}\r\n`
      message.set(subject, Buffer.concat([Buffer.from(head, 'latin1'), bytes.subarray(lineEnd, end)]), 0, reply.length)
      message.bodyStart = head.length
      message.end = message.bytes.length
    }
    message.headerBytes = headerBytes
    this.#operations.publish(message)
    return end
  }

  /** Splits the line at blanks into #starts and #ends. Returns where the next line starts, or -1 when this one goes on. */
  #scan(bytes: Buffer, from: number): number {
    const starts = this.#starts
    const ends = this.#ends
    const length = bytes.length
    let count = 0
    let inside = false
    for (let i = from; i < length; i += 1) {
      const byte = bytes[i]!
      if (byte > SPACE) {
        if (inside) continue
        inside = true
        if (count < MAX_ARGUMENTS) starts[count] = i
      } else if (byte === SPACE || byte === CR || byte === LF || byte === TAB) {
        if (inside) {
          if (count < MAX_ARGUMENTS) ends[count] = i
          count += 1
          inside = false
        }
        if (byte !== LF) continue
        this.#count = count
        return i + 1
      } else if (!inside) {
        inside = true
        if (count < MAX_ARGUMENTS) starts[count] = i
      }
    }
    return -1
  }

  /** Whether the scanned arguments are one space apart and followed by CRLF, so that they can be passed on as they are. */
  #isPlain(bytes: Buffer, lineEnd: number): boolean {
    const count = this.#count
    for (let i = 1; i < count; i += 1) {
      if (this.#starts[i] !== this.#ends[i - 1]! + 1 || bytes[this.#ends[i - 1]!] !== SPACE) return false
    }
    return this.#ends[count - 1] === lineEnd - CRLF_BYTES
  }

  /** Everything but messages: rare enough to be read as text. */
  #otherOperation(bytes: Buffer, at: number): number {
    const newline = bytes.indexOf(LF, at)
    const lineEnd = newline < 0 ? bytes.length : newline
    const name = readName(bytes, at, lineEnd)
    if (name === undefined) return this.#fail('unknown operation')
    const argumentsAt = at + name.length
    if (newline < 0) return this.#holdLine(bytes, at, argumentsAt)
    if (newline - argumentsAt > this.#limits.maxControlLineBytes) return this.#fail('control line too long')
    const text = bytes.toString('latin1', argumentsAt, newline)
    const words = name === 'SUB' || name === 'UNSUB' ? text.split(/[ \t\r]+/).filter((word) => word !== '') : []

    switch (name) {
      case 'CONNECT':
        this.#operations.connect(bytes.toString('utf8', argumentsAt, newline))
        break
      case 'SUB': {
        const [subject, queueOrSid, sid] = words
        if (subject === undefined || queueOrSid === undefined || words.length > 3) return this.#fail('bad arguments')
        if (sid === undefined) this.#operations.subscribe(subject, '', queueOrSid)
        else this.#operations.subscribe(subject, queueOrSid, sid)
        break
      }
      case 'UNSUB': {
        const [sid, max = '0'] = words
        if (sid === undefined || words.length > 2) return this.#fail('bad arguments')
        this.#operations.unsubscribe(sid, /^\d{1,9}$/.test(max) ? Number(max) : 0)
        break
      }
      case 'PING':
        this.#operations.ping()
        break
      case 'PONG':
        this.#operations.pong()
        break
      case '-ERR':
        return this.#fail('error from client')
      case '+OK':
      case 'INFO':
        break
      case 'PUB':
      case 'HPUB':
        // Complete messages are recognised before; this one is too short to be one.
        return this.#fail('bad arguments')
    }
    return newline + 1
  }

  /** The chunk ends inside a line: keep a copy of its start, or the whole chunk would stay in memory with it. */
  #holdLine(bytes: Buffer, at: number, argumentsAt: number): number {
    if (bytes.length - argumentsAt > this.#limits.maxControlLineBytes) return this.#fail('control line too long')
    this.#held = Buffer.from(bytes.subarray(at))
    this.#wholeBytes = 0
    return INCOMPLETE
  }

  /** The chunk ends inside a message whose size is known: one buffer for all of it, filled as the rest arrives. */
  #holdMessage(bytes: Buffer, at: number, end: number): number {
    this.#wholeBytes = end - at
    this.#held = Buffer.allocUnsafeSlow(this.#wholeBytes)
    this.#heldBytes = bytes.copy(this.#held, 0, at)
    return INCOMPLETE
  }

  #fail(problem: Problem): number {
    this.stop()
    this.#operations.failed(problem)
    return INCOMPLETE
  }
}

const INCOMPLETE = -1
const MAX_ARGUMENTS = 4
const CRLF_BYTES = 2
