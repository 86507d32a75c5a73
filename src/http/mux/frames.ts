/**
 * The frames of a mux (`Cable`): eight bytes each. A `DATA` frame is followed by bytes of one stream (`Strand`).
 *
 *   0..3  the stream's number; 0 is the mux itself
 *   4..6  for `DATA` how many bytes follow; for `CREDIT` how many more may be sent
 *   7     the kind
 *
 * All numbers are little-endian.
 */
export const FRAME_BYTES = 8
/** The most data of one frame. A write that is no longer than this arrives in one piece. */
export const MOST_DATA_BYTES = 64 * 1024 - FRAME_BYTES

/** Bytes of a stream. The first frame opens the stream. */
export const DATA = 0
/** The sender will send no more on this stream. */
export const END = 1
/** The stream is closed in both directions. */
export const RESET = 2
/** The receiver has consumed so many bytes: the sender may send as many more. */
export const CREDIT = 3
/** Asks the other side for a `PONG`, to see that it still answers. */
export const PING = 4
export const PONG = 5
/** The sender is closing: the other side should open no more streams. */
export const LAST = 6

export function writeFrame(to: Buffer, at: number, id: number, kind: number, amount: number): void {
  to[at] = id
  to[at + 1] = id >>> 8
  to[at + 2] = id >>> 16
  to[at + 3] = id >>> 24
  to[at + 4] = amount
  to[at + 5] = amount >>> 8
  to[at + 6] = amount >>> 16
  to[at + 7] = kind
}

export function idAt(from: Buffer, at: number): number {
  return (from[at]! | (from[at + 1]! << 8) | (from[at + 2]! << 16) | (from[at + 3]! << 24)) >>> 0
}

export function amountAt(from: Buffer, at: number): number {
  return from[at + 4]! | (from[at + 5]! << 8) | (from[at + 6]! << 16)
}

export function kindAt(from: Buffer, at: number): number {
  return from[at + 7]!
}
