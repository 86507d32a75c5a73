import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { Scratch } from '../upstream/read-buffer.ts'
import { FrameReader, type FrameEvents } from './frame-reader.ts'
import { CREDIT, DATA, END, FRAME_BYTES, LAST, MOST_DATA_BYTES, PING, PONG, RESET, writeFrame } from './frames.ts'
import { Strand, type StrandCable } from './mux-stream.ts'

export interface CableSide {
  /** The other side has opened a stream. Missing at the side that opens them. */
  onStrand?: (strand: Strand) => void
  onGone: () => void
}

const MOST_STRANDS = 20_000
const MOST_ID = 0xff_ff_ff_ff
/** When so many bytes wait to be sent, streams hold theirs back. */
const FULL_BYTES = 1024 * 1024
/** After this long without a frame, the next one does not wait for others. */
const ALONE_MS = 0.1
/**
 * The most bytes of replies (`PONG`, `RESET`, `CREDIT`) while the mux is full. Streams hold back then, so the other side
 * sends frames and reads nothing: more replies would only take memory.
 */
const MOST_REPLY_BYTES = 1024 * 1024
const LOOK_EVERY_MS = 1000
/** Checks in a row that found the other side silent after a send: after so many no stream is opened, or the mux is closed. */
const DOUBTFUL_LOOKS = 2
const MOST_LOOKS = 30

/**
 * A mux: many connections (streams) between two processes on one socket. All that they send within one turn of the event
 * loop goes out in one write and comes in with one read, which are most of the cost of short requests. Each stream has
 * credit of its own, so one that is not read does not hold up the others.
 */
export class Cable implements StrandCable, FrameEvents {
  readonly remoteAddress: string | undefined
  readonly #socket: Socket
  readonly #side: CableSide
  readonly #reader = new FrameReader(this)
  readonly #strands = new Map<number, Strand>()
  #lastId = 0
  /** Bytes to be sent at the end of this turn. */
  #out = new Scratch()
  #outBytes = 0
  #sentAtMs = 0
  /** The frame being sent is alone, and is sent at once. */
  #isAlone = false
  #waiting: (() => void)[] = []
  /** Bytes of replies sent while full, since the last drain. */
  #replyBytes = 0
  #isGone = false
  /** The other side is closing; and this side closes with its last stream. */
  #isLast = false
  #endsUnused = false
  /** Something was sent, and nothing received since. */
  #isAwaiting = false
  #silentLooks = 0
  readonly #look: NodeJS.Timeout

  /** The caller must pass the bytes that arrive on the socket to `take`. */
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

  /** The other side answers, as far as is known, and is not closing. */
  get isWell(): boolean {
    return !this.#isGone && !this.#isLast && this.#silentLooks < DOUBTFUL_LOOKS
  }

  get isFull(): boolean {
    return this.#socket.writableLength > FULL_BYTES
  }

  /** Opens a stream; undefined when there can be no more. */
  open(): Strand | undefined {
    if (this.#isGone || this.#strands.size >= MOST_STRANDS || this.#lastId === MOST_ID) return undefined
    return this.#add(this.#lastId + 1)
  }

  /** Asks the other side to open no more streams. */
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

  /** Takes bytes that arrived on the socket, valid only until this returns. */
  take(bytes: Buffer): void {
    this.#isAwaiting = false
    this.#silentLooks = 0
    try {
      this.#reader.push(bytes)
    } catch {
      // After a malformed frame the frame boundaries are lost.
      this.destroy()
    }
  }

  onData(id: number, bytes: Buffer): void {
    const strand = this.#strands.get(id) ?? this.#begun(id)
    // Without a reader there would be no credit, and the sender would wait for ever.
    if (!strand) return this.sendReset(id)
    if (strand.isTooMuch(bytes.length)) throw new Error('the other side sent more than its credit')
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

  /** The stream that the other side opens with this frame, if it may. */
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

  /** Sends a frame after a quiet time at once; other frames wait for the end of the turn. */
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
    // Bytes still queued in the socket keep their memory.
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
