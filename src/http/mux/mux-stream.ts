import { Duplex } from 'node:stream'

/** The most bytes of a stream that may be on their way or unread, in each direction. */
export const WINDOW_BYTES = 256 * 1024
/** Credit is returned in amounts of at least this, so that one frame serves many reads. */
const CREDIT_BYTES = WINDOW_BYTES / 4

/** What a stream needs from its mux. */
export interface StrandCable {
  readonly remoteAddress: string | undefined
  /** Too many bytes wait to be sent: streams must hold theirs back until `whenRoom` calls back. */
  readonly isFull: boolean
  whenRoom(then: () => void): void
  /** Copies the chunk. */
  sendData(id: number, chunk: Buffer | string): void
  sendEnd(id: number): void
  sendReset(id: number): void
  sendCredit(id: number, bytes: number): void
  /** The stream has closed. */
  forget(id: number): void
}

/**
 * A connection that shares a mux with others. It behaves like a socket with shared reads (`fast/shared-reads.ts`): with
 * `onBytes` it delivers bytes without a copy; without, it is an ordinary stream.
 */
export class Strand extends Duplex {
  readonly id: number
  readonly connecting = false
  readonly remoteAddress: string | undefined
  bytesRead = 0
  bytesWritten = 0
  /** While set, gets the bytes that arrive, valid only until it returns. */
  onBytes: ((bytes: Buffer) => void) | undefined
  readonly #cable: StrandCable
  /** How much more may be sent. */
  #credit = WINDOW_BYTES
  /** Written and not sent, for want of credit or room; `done` is called once it is sent. */
  #unsent: { rest: Buffer; done: () => void } | undefined
  /** Received bytes without returned credit; those of them that were consumed; those still in the readable stream. */
  #inHand = 0
  #owed = 0
  #unread = 0
  #isHeldBack = false
  /** Bytes that arrived while it was paused. */
  #held: Buffer[] = []
  #hasEnded = false
  /** The other side has reset it. */
  #isReset = false

  constructor(id: number, cable: StrandCable) {
    super({ allowHalfOpen: true, decodeStrings: false })
    this.id = id
    this.#cable = cable
    this.remoteAddress = cable.remoteAddress
    // All streams fail with their mux; a stream without a listener must not crash the process then.
    this.on('error', () => {})
  }

  /** Whether so many more bytes exceed the other side's credit. */
  isTooMuch(bytes: number): boolean {
    return this.#inHand + bytes > WINDOW_BYTES
  }

  /** `bytes` are valid only until this returns. */
  takeBytes(bytes: Buffer): void {
    // Data after END breaks the protocol.
    if (this.#hasEnded) return void this.destroy()
    this.bytesRead += bytes.length
    this.#inHand += bytes.length
    if (this.#held.length > 0 || (this.#isHeldBack && this.onBytes)) this.#held.push(Buffer.from(bytes))
    else this.#tell(bytes)
  }

  takeEnd(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    if (this.#held.length === 0) this.#tellEnd()
  }

  takeCredit(bytes: number): void {
    this.#credit += bytes
    this.#sendMore()
  }

  takeReset(): void {
    this.#isReset = true
    this.destroy(Object.assign(new Error('it closed the connection'), { code: 'ECONNRESET' }))
  }

  override pause(): this {
    this.#isHeldBack = true
    return super.pause()
  }

  override resume(): this {
    this.#isHeldBack = false
    if (this.#held.length > 0) process.nextTick(() => this.#tellHeld())
    return super.resume()
  }

  /** Like a socket's: closes the stream once all writes are sent. */
  destroySoon(): void {
    if (this.writable) this.end()
    if (this.writableFinished) this.destroy()
    else this.once('finish', () => this.destroy())
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: () => void): void {
    const isPlain = typeof chunk !== 'string' || encoding === 'latin1'
    if (isPlain && chunk.length <= this.#credit && !this.#cable.isFull) {
      this.#send(chunk)
      return done()
    }
    this.#unsent = { rest: typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk, done }
    this.#sendMore()
  }

  override _final(done: () => void): void {
    this.#cable.sendEnd(this.id)
    done()
  }

  override _read(): void {
    const unread = this.#unread
    this.#unread = 0
    if (unread > 0) this.#used(unread)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#held = []
    this.#unsent = undefined
    if (!this.writableFinished && !this.#isReset) this.#cable.sendReset(this.id)
    this.#cable.forget(this.id)
    done(error)
  }

  #send(chunk: Buffer | string): void {
    this.#credit -= chunk.length
    this.bytesWritten += chunk.length
    this.#cable.sendData(this.id, chunk)
  }

  readonly #sendMore = (): void => {
    const unsent = this.#unsent
    if (!unsent) return
    if (this.#cable.isFull) return this.#cable.whenRoom(this.#sendMore)
    const { rest, done } = unsent
    const now = Math.min(rest.length, this.#credit)
    if (now > 0) this.#send(rest.subarray(0, now))
    if (now === rest.length) {
      this.#unsent = undefined
      done()
    } else unsent.rest = rest.subarray(now)
  }

  #tell(bytes: Buffer): void {
    if (this.destroyed) return
    const { length } = bytes
    if (this.onBytes) {
      this.onBytes(bytes)
      this.#used(length)
    } else if (this.push(Buffer.from(bytes))) this.#used(length)
    else this.#unread += length
  }

  #tellHeld(): void {
    for (let next = this.#next(); next; next = this.#next()) this.#tell(next)
    if (this.#hasEnded && this.#held.length === 0) this.#tellEnd()
  }

  #next(): Buffer | undefined {
    return this.#isHeldBack && this.onBytes ? undefined : this.#held.shift()
  }

  #tellEnd(): void {
    if (this.destroyed) return
    this.push(null)
    this.read(0)
  }

  #used(bytes: number): void {
    this.#owed += bytes
    if (this.#owed < CREDIT_BYTES || this.destroyed) return
    this.#cable.sendCredit(this.id, this.#owed)
    this.#inHand -= this.#owed
    this.#owed = 0
  }
}
