/** How the operations look as bytes. */
export const [TAB, LF, CR, SPACE] = [9, 10, 13, 32]
/** Set in an ASCII letter, makes it a small one. */
export const LOWER = 32
export const [B, C, H, P, U] = [98, 99, 104, 112, 117]
const [ZERO, NINE] = [48, 57]
/** Fewer than a number can hold exactly; nats-server reads no more either. */
const MAX_SIZE_DIGITS = 9

/** `PUB` and a blank, in any case; only called with four bytes there. */
export function isPub(bytes: Buffer, at: number): boolean {
  const blank = bytes[at + 3]
  return (
    (bytes[at]! | LOWER) === P &&
    (bytes[at + 1]! | LOWER) === U &&
    (bytes[at + 2]! | LOWER) === B &&
    (blank === SPACE || blank === TAB)
  )
}

/** A decimal number, or -1. */
export function readSize(bytes: Buffer, from: number, to: number): number {
  if (to - from > MAX_SIZE_DIGITS) return -1
  let size = 0
  for (let i = from; i < to; i += 1) {
    const digit = bytes[i]!
    if (digit < ZERO || digit > NINE) return -1
    size = size * 10 + digit - ZERO
  }
  return size
}

const NAMES = ['PUB', 'HPUB', 'SUB', 'UNSUB', 'PING', 'PONG', 'CONNECT', 'INFO', '+OK', '-ERR'] as const
const LONGEST_NAME = 'CONNECT'.length
const NEED_BLANK: ReadonlySet<string> = new Set(['PUB', 'HPUB', 'SUB', 'UNSUB'])

/** The operation a line starts with. A line that is not complete may still be any that its bytes could become. */
export function readName(bytes: Buffer, from: number, lineEnd: number): (typeof NAMES)[number] | undefined {
  const start = bytes.toString('latin1', from, Math.min(lineEnd, from + LONGEST_NAME + 1)).toUpperCase()
  const complete = lineEnd < bytes.length
  return NAMES.find((name) => {
    if (start.length <= name.length && !complete) return name.startsWith(start)
    if (!start.startsWith(name)) return false
    return !NEED_BLANK.has(name) || start[name.length] === ' ' || start[name.length] === '\t'
  })
}
