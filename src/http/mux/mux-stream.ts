import { Duplex } from 'node:stream'

/** So much may be on its way on a strand, or wait to be read, in each direction. */
export const WINDOW_BYTES = 256 * 1024
/** What was read is told to the other side when it is so much: one frame for many. */
const CREDIT_BYTES = WINDOW_BYTES / 4

/** What a strand needs of its cable. */
export interface StrandCable {
  readonly remoteAddress: string | undefined
  /** So much waits for the system to take it that nobody should add to it; `whenRoom` calls back. */
  readonly isFull: boolean
  whenRoom(then: () => void): void
  /** Copies it. */
  sendData(id: number, chunk: Buffer | string): void
  sendEnd(id: number): void
  sendReset(id: number): void
  sendCredit(id: number, bytes: number): void
  /** It is no more. */
  forget(id: number): void
}

/**
 * A connection that shares a cable with others. To those who use it, it is a socket that was read from into one buffer
 * (`wire/shared-reads.ts`): with `onBytes` it tells what has come, without it is a stream as any.
 */
export class Strand extends Duplex {
  readonly id: number
  readonly connecting = false
  readonly remoteAddress: string | undefined
  bytesRead = 0
  bytesWritten = 0
  /** Gets what has come, as long as there is somebody; it is good until this returns. */
  onBytes: ((bytes: Buffer) => void) | undefined
  readonly #cable: StrandCable
  /** How much more may be sent. */
  #credit = WINDOW_BYTES
  /** What is written and not sent, for want of credit or room, and whom to tell when it is. */
  #unsent: { rest: Buffer; done: () => void } | undefined
  /** What has come and the other side does not know to be used up; and what of that is used up; and is in the stream. */
  #inHand = 0
  #owed = 0
  #unread = 0
  #isHeldBack = false
  /** What came while it was held back. */
  #held: Buffer[] = []
  #hasEnded = false
  /** The other side has said that it is no more. */
  #isReset = false

  constructor(id: number, cable: StrandCable) {
    super({ allowHalfOpen: true, decodeStrings: false })
    this.id = id
    this.#cable = cable
    this.remoteAddress = cable.remoteAddress
    // With the cable all of them end: one that nobody listens to at that moment must not take the process with it.
    this.on('error', () => {})
  }

  /** More than the other side may send. */
  isTooMuch(bytes: number): boolean {
    return this.#inHand + bytes > WINDOW_BYTES
  }

  /** `bytes` are good until this returns. */
  takeBytes(bytes: Buffer): void {
    // Whoever has said that this is all cannot be believed any more.
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

  /** As a socket's: closes it when all that was written is sent. */
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
