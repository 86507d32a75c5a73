import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { Scratch } from '../upstream/read-buffer.ts'
import { FrameReader, type FrameEvents } from './frame-reader.ts'
import { CREDIT, DATA, END, FRAME_BYTES, LAST, MOST_DATA_BYTES, PING, PONG, RESET, writeFrame } from './frames.ts'
import { Strand, type StrandCable } from './mux-stream.ts'

export interface CableSide {
  /** The other side has begun one. Missing at the side that begins them. */
  onStrand?: (strand: Strand) => void
  onGone: () => void
}

const MOST_STRANDS = 20_000
const MOST_ID = 0xff_ff_ff_ff
/** When so much waits for the system to take it, strands wait. */
const FULL_BYTES = 1024 * 1024
/** After so long without a frame the next one is not made to wait for others. */
const ALONE_MS = 0.1
/**
 * So much may be said in answer to frames (`PONG`, `RESET`, `CREDIT`) while that waits. Strands wait then, so the other side
 * has sent frames and read nothing of what it was told: what it is told next would only take memory.
 */
const MOST_REPLY_BYTES = 1024 * 1024
const LOOK_EVERY_MS = 1000
/** Looks in a row that found the other side silent after something was sent; after so many nothing new is begun, or all is given up. */
const DOUBTFUL_LOOKS = 2
const MOST_LOOKS = 30

/**
 * Many connections (strands) between two processes on one. What all of them say within one turn of the event loop is sent
 * in one write, and read in one read, which for short requests is most of what they cost. A strand that nobody reads holds
 * up no other: each has credit of its own.
 */
export class Cable implements StrandCable, FrameEvents {
  readonly remoteAddress: string | undefined
  readonly #socket: Socket
  readonly #side: CableSide
  readonly #reader = new FrameReader(this)
  readonly #strands = new Map<number, Strand>()
  #lastId = 0
  /** What is to be sent with the end of this turn. */
  #out = new Scratch()
  #outBytes = 0
  #sentAtMs = 0
  /** What is sent now is alone, and sent at once. */
  #isAlone = false
  #waiting: (() => void)[] = []
  /** Frames that were sent while it was full, since the other side has read all. */
  #replyBytes = 0
  #isGone = false
  /** The other side will soon be gone; and so shall we, as soon as nobody uses it. */
  #isLast = false
  #endsUnused = false
  /** Something was sent since the other side was last heard. */
  #isAwaiting = false
  #silentLooks = 0
  readonly #look: NodeJS.Timeout

  /** Bytes that come on the socket are given to `take` by who made it. */
  constructor(socket: Socket, side: CableSide) {
    this.#socket = socket
    this.#side = side
    this.remoteAddress = socket.remoteAddress
    this.#look = setInterval(() => this.#lookAround(), LOOK_EVERY_MS).unref()
    socket.on('error', () => {})
    socket.on('drain', () => this.#tellRoom())
    socket.on('end', () => socket.destroy())
    socket.on('close', () => this.#leave())
  }

  /** The other side answers, as far as is known, and will go on to. */
  get isWell(): boolean {
    return !this.#isGone && !this.#isLast && this.#silentLooks < DOUBTFUL_LOOKS
  }

  get isFull(): boolean {
    return this.#socket.writableLength > FULL_BYTES
  }

  /** A new strand; undefined when there can be no more. */
  open(): Strand | undefined {
    if (this.#isGone || this.#strands.size >= MOST_STRANDS || this.#lastId === MOST_ID) return undefined
    return this.#add(this.#lastId + 1)
  }

  /** Asks the other side to begin no more. */
  announceEnd(): void {
    this.#sendFrame(0, LAST, 0)
  }

  endWhenUnused(): void {
    this.#endsUnused = true
    if (this.#strands.size === 0) this.#socket.end()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  whenRoom(then: () => void): void {
    this.#waiting.push(then)
  }

  sendData(id: number, chunk: Buffer | string): void {
    const { length } = chunk
    if (length === 0 || this.#isGone) return
    if (length > MOST_DATA_BYTES) return this.#sendLong(id, chunk)
    if (length > this.#out.all.length - this.#outBytes - FRAME_BYTES) this.#flush()
    this.#sendFrame(id, DATA, length)
    if (typeof chunk === 'string') this.#out.all.write(chunk, this.#outBytes, length, 'latin1')
    else this.#out.all.set(chunk, this.#outBytes)
    this.#outBytes += length
    if (this.#isAlone) this.#flush()
  }

  sendEnd(id: number): void {
    this.#sendFrame(id, END, 0)
  }

  sendReset(id: number): void {
    this.#sendFrame(id, RESET, 0)
  }

  sendCredit(id: number, bytes: number): void {
    this.#sendFrame(id, CREDIT, bytes)
  }

  forget(id: number): void {
    this.#strands.delete(id)
    if (this.#endsUnused && this.#strands.size === 0) this.#socket.end()
  }

  /** What has come on the socket; it is good until this returns. */
  take(bytes: Buffer): void {
    this.#isAwaiting = false
    this.#silentLooks = 0
    try {
      this.#reader.push(bytes)
    } catch {
      // What follows cannot be told apart any more.
      this.destroy()
    }
  }

  onData(id: number, bytes: Buffer): void {
    const strand = this.#strands.get(id) ?? this.#begun(id)
    // Nobody is there to use it up, so its sender would wait for ever.
    if (!strand) return this.sendReset(id)
    if (strand.isTooMuch(bytes.length)) throw new Error('more was sent than there was credit for')
    strand.takeBytes(bytes)
  }

  onFrame(id: number, kind: number, amount: number): void {
    switch (kind) {
      case END:
        return this.#strands.get(id)?.takeEnd()
      case RESET:
        return this.#strands.get(id)?.takeReset()
      case CREDIT:
        return this.#strands.get(id)?.takeCredit(amount)
      case PING:
        return this.#sendFrame(0, PONG, 0)
      case LAST:
        this.#isLast = true
    }
  }

  /** One that the other side begins with this frame. */
  #begun(id: number): Strand | undefined {
    const { onStrand } = this.#side
    if (!onStrand || id <= this.#lastId || this.#strands.size >= MOST_STRANDS) return undefined
    const strand = this.#add(id)
    onStrand(strand)
    return strand
  }

  #add(id: number): Strand {
    this.#lastId = id
    const strand = new Strand(id, this)
    this.#strands.set(id, strand)
    return strand
  }

  #sendLong(id: number, chunk: Buffer | string): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, 'latin1') : chunk
    for (let at = 0; at < bytes.length; at += MOST_DATA_BYTES)
      this.sendData(id, bytes.subarray(at, at + MOST_DATA_BYTES))
  }

  #sendFrame(id: number, kind: number, amount: number): void {
    if (this.#isGone) return
    if (this.#out.all.length - this.#outBytes < FRAME_BYTES) this.#flush()
    if (this.isFull && kind !== DATA) {
      this.#replyBytes += FRAME_BYTES
      if (this.#replyBytes > MOST_REPLY_BYTES) return this.destroy()
    }
    if (this.#outBytes === 0) this.#flushSoon(kind)
    writeFrame(this.#out.all, this.#outBytes, id, kind, amount)
    this.#outBytes += FRAME_BYTES
  }

  /** Those who say little are sent at once; the others with what else is said in this turn. */
  #flushSoon(kind: number): void {
    const nowMs = performance.now()
    this.#isAlone = kind === DATA && nowMs - this.#sentAtMs > ALONE_MS
    this.#sentAtMs = nowMs
    if (!this.#isAlone) setImmediate(this.#flush)
  }

  readonly #flush = (): void => {
    const length = this.#outBytes
    this.#outBytes = 0
    this.#isAlone = false
    const socket = this.#socket
    if (length === 0 || !socket.writable) return
    this.#isAwaiting = true
    const bytes = this.#out.first(length)
    const isTakenLater = (socket as Partial<TLSSocket>).encrypted === true
    socket.write(isTakenLater ? Buffer.from(bytes) : bytes)
    // What the system has not taken keeps its memory.
    if (!isTakenLater && socket.writableLength > 0) this.#out = new Scratch()
  }

  #tellRoom(): void {
    this.#replyBytes = 0
    const waiting = this.#waiting
    this.#waiting = []
    for (const then of waiting) then()
  }

  #lookAround(): void {
    if (!this.#isAwaiting) return
    this.#silentLooks += 1
    if (this.#silentLooks > MOST_LOOKS) this.destroy()
    else if (this.#silentLooks === 1) this.#sendFrame(0, PING, 0)
  }

  #leave(): void {
    this.#isGone = true
    clearInterval(this.#look)
    for (const strand of this.#strands.values()) strand.takeReset()
    this.#side.onGone()
  }
}
