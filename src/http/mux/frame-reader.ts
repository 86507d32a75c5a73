import { Scratch } from '../upstream/read-buffer.ts'
import { amountAt, DATA, FRAME_BYTES, idAt, kindAt, LAST, MOST_DATA_BYTES } from './frames.ts'

export interface FrameEvents {
  /** `bytes` are the whole data of one frame, valid only until this returns. */
  onData(id: number, bytes: Buffer): void
  onFrame(id: number, kind: number, amount: number): void
}

/** Holds one frame's data at its beginning, as a socket's read buffer would. */
const PIECE = new Scratch()

/** Reports each frame once it is complete, however its bytes are split. Throws on a malformed frame. */
export class FrameReader {
  readonly #events: FrameEvents
  /** The beginning of an incomplete frame. */
  #held: Buffer | undefined
  #heldBytes = 0

  constructor(events: FrameEvents) {
    this.#events = events
  }

  push(bytes: Buffer): void {
    let at = this.#heldBytes > 0 ? this.#pushHeld(bytes) : 0
    for (let end = endOf(bytes, at); end !== 0; end = endOf(bytes, at)) {
      this.#tell(bytes, at, end)
      at = end
    }
    if (at < bytes.length) this.#hold(bytes, at, bytes.length)
  }

  /** Completes the held frame, if `bytes` suffice; returns how many of them it used. */
  #pushHeld(bytes: Buffer): number {
    let at = 0
    if (this.#heldBytes < FRAME_BYTES) at = this.#holdUpTo(FRAME_BYTES, bytes, at)
    if (this.#heldBytes < FRAME_BYTES) return at
    const held = this.#held!
    const end = FRAME_BYTES + dataBytesAt(held, 0)
    at = this.#holdUpTo(end, bytes, at)
    if (this.#heldBytes < end) return at
    this.#heldBytes = 0
    this.#tell(held, 0, end)
    return at
  }

  #holdUpTo(most: number, bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + most - this.#heldBytes)
    this.#hold(bytes, at, end)
    return end
  }

  #hold(bytes: Buffer, at: number, end: number): void {
    this.#held ??= Buffer.allocUnsafeSlow(FRAME_BYTES + MOST_DATA_BYTES)
    bytes.copy(this.#held, this.#heldBytes, at, end)
    this.#heldBytes += end - at
  }

  #tell(from: Buffer, at: number, end: number): void {
    const id = idAt(from, at)
    const kind = kindAt(from, at)
    if (kind !== DATA) return this.#events.onFrame(id, kind, amountAt(from, at))
    from.copy(PIECE.all, 0, at + FRAME_BYTES, end)
    this.#events.onData(id, PIECE.first(end - at - FRAME_BYTES))
  }
}

/** Where the frame at `at` ends; 0 when it is incomplete. */
function endOf(bytes: Buffer, at: number): number {
  if (bytes.length - at < FRAME_BYTES) return 0
  const end = at + FRAME_BYTES + dataBytesAt(bytes, at)
  return end <= bytes.length ? end : 0
}

/** How many data bytes follow the frame header at `at`. */
function dataBytesAt(bytes: Buffer, at: number): number {
  const kind = kindAt(bytes, at)
  if (kind > LAST) throw new Error(`unknown frame kind ${kind}`)
  if (kind !== DATA) return 0
  const amount = amountAt(bytes, at)
  if (amount > MOST_DATA_BYTES) throw new Error(`a frame of ${amount} bytes is too long`)
  return amount
}
