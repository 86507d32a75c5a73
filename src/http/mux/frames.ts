/**
 * What is said on a cable: frames of eight bytes, of which those of the kind `DATA` are followed by bytes of a strand.
 *
 *   0..3  the strand's number; 0 is the cable itself
 *   4..6  for `DATA` how many bytes follow; for `CREDIT` how many more may be sent
 *   7     the kind
 *
 * All numbers have their lowest byte first.
 */
export const FRAME_BYTES = 8
/** So many follow at most. What is written in one piece and is no longer than this is told in one piece. */
export const MOST_DATA_BYTES = 64 * 1024 - FRAME_BYTES

/** Bytes of a strand, which begins with the first of them. */
export const DATA = 0
/** No more will be sent on this strand. */
export const END = 1
/** The strand is no more. */
export const RESET = 2
/** So many bytes were used up: as many more may be sent. */
export const CREDIT = 3
/** Are you there? and: I am. */
export const PING = 4
export const PONG = 5
/** Whoever says this will soon be gone: no strand should be begun any more. */
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
