import type { Socket } from 'node:net'

/** One write to the socket carries up to this much. */
const BLOCK_BYTES = 64 * 1024
/** A body this large is handed over as it is: copying it costs more than another entry in the write. */
const BY_REFERENCE_BYTES = 16 * 1024
const MAX_FREE_BLOCKS = 64

/**
 * What the outboxes of one broker share: blocks to fill, and the turn of the event loop in which all that became due
 * is written. Every chunk read in a turn may add to any outbox; each is then written once.
 */
export class Postroom {
  readonly #free: Buffer[] = []
  #due: Outbox[] = []

  takeBlock(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES)
  }

  giveBack(block: Buffer): void {
    if (this.#free.length < MAX_FREE_BLOCKS) this.#free.push(block)
  }

  flushSoon(outbox: Outbox): void {
    // The check phase follows the poll phase that read the chunks: nothing waits longer than the others take to be read.
    if (this.#due.push(outbox) === 1) setImmediate(() => this.#flushAll())
  }

  #flushAll(): void {
    const due = this.#due
    this.#due = []
    for (const outbox of due) outbox.flush()
  }
}

/**
 * The bytes on their way to one client. Small pieces are copied into a block; the block goes to the socket when the
 * turn ends or it is full. While the socket has not taken the last write, a block is filled up before it is queued,
 * so that what waits takes no more memory than it has bytes.
 */
export class Outbox {
  readonly #socket: Socket
  readonly #postroom: Postroom
  readonly #maxPendingBytes: number
  readonly #onOverflow: (pendingBytes: number) => void
  #block: Buffer | undefined
  #used = 0
  /** Blocks the socket still reads from. */
  #lent: Buffer[] = []
  #due = false
  #closed = false
  readonly #onWritten = (): void => this.#written()

  constructor(socket: Socket, postroom: Postroom, maxPendingBytes: number, onOverflow: (pendingBytes: number) => void) {
    this.#socket = socket
    this.#postroom = postroom
    this.#maxPendingBytes = maxPendingBytes
    this.#onOverflow = onOverflow
  }

  /** Adds text of one byte per character, no longer than a control line. */
  text(text: string): void {
    const block = this.#room(text.length)
    if (!block) return
    block.write(text, this.#used, 'latin1')
    this.#used += text.length
  }

  /** Adds a message: its first part as text, then bytes that the caller never changes again. */
  message(head: string, tail: Uint8Array): void {
    const headBytes = head.length
    const tailBytes = tail.byteLength
    const large = tailBytes >= BY_REFERENCE_BYTES
    const block = this.#room(large ? headBytes : headBytes + tailBytes)
    if (!block) return
    block.write(head, this.#used, 'latin1')
    this.#used += headBytes
    if (large) return this.#postWith(tail)
    block.set(tail, this.#used)
    this.#used += tailBytes
  }

  /** Hands over what is there, unless the socket is behind: then it follows when the socket has caught up. */
  flush(): void {
    this.#due = false
    if (this.#used > 0 && this.#socket.writableLength === 0) this.#post()
  }

  /** Hands over everything and takes no more. */
  end(): void {
    if (this.#closed) return
    if (this.#used > 0) this.#post()
    this.close()
  }

  /** Forgets what was not handed over. */
  close(): void {
    this.#closed = true
    this.#block = undefined
    this.#used = 0
    // What the socket may still read from is left to the garbage collector.
    this.#lent = []
  }

  /** The block to write `bytes` into; undefined when this outbox is closed, maybe just now. */
  #room(bytes: number): Buffer | undefined {
    if (this.#block && this.#used + bytes > BLOCK_BYTES) this.#post()
    if (this.#closed) return undefined
    if (!this.#due) {
      this.#due = true
      this.#postroom.flushSoon(this)
    }
    return (this.#block ??= this.#postroom.takeBlock())
  }

  /** Gives the filled part of the block to the socket. */
  #post(): void {
    const block = this.#block
    if (!block || this.#closed) return
    const socket = this.#socket
    const pendingBytes = socket.writableLength + this.#used
    if (pendingBytes > this.#maxPendingBytes) return this.#onOverflow(pendingBytes)
    socket.write(block.subarray(0, this.#used), this.#onWritten)
    this.#used = 0
    this.#block = undefined
    // Nothing left to write means that the kernel has it all, and the block is free again.
    if (socket.writableLength === 0) this.#postroom.giveBack(block)
    else this.#lent.push(block)
  }

  /** Gives the block and, in the same write, bytes that are not worth copying. */
  #postWith(bytes: Uint8Array): void {
    const socket = this.#socket
    socket.cork()
    this.#post()
    const pendingBytes = socket.writableLength + bytes.byteLength
    if (this.#closed) return
    if (pendingBytes > this.#maxPendingBytes) return this.#onOverflow(pendingBytes)
    socket.write(bytes, this.#onWritten)
    socket.uncork()
  }

  #written(): void {
    if (this.#closed || this.#socket.writableLength > 0) return
    for (const block of this.#lent) this.#postroom.giveBack(block)
    this.#lent = []
    if (!this.#due) this.flush()
  }
}
