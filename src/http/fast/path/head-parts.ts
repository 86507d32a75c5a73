/**
 * The head of a message in parts, in order. Parts that many messages share are bytes, because copying them takes a fraction
 * of the time of making and writing a string.
 */
export interface JoinedHead {
  readonly start: Uint8Array
  /** Plain ASCII, and not the result of a concatenation. */
  readonly id: string
  readonly middle: Uint8Array
  /** Written in digits; -1 is left out. */
  readonly length: number
  readonly end: Uint8Array
}

export function bytesOfHead({ start, id, middle, length, end }: JoinedHead): number {
  return start.length + id.length + middle.length + digitsOf(length) + end.length
}

/** Writes it to the beginning of `to`, which must be long enough. */
export function putHead(to: Buffer, { start, id, middle, length, end }: JoinedHead): void {
  to.set(start)
  let at = start.length
  // Fast for a flat string. A string that was just concatenated would be flattened first.
  if (id !== '') to.write(id, at, id.length, 'latin1')
  at += id.length
  to.set(middle, at)
  at += middle.length
  const digits = digitsOf(length)
  for (let left = length, i = at + digits - 1; i >= at; i -= 1) {
    const tenth = Math.floor(left / 10)
    to[i] = ZERO + left - tenth * 10
    left = tenth
  }
  to.set(end, at + digits)
}

export function textOfHead(head: JoinedHead): string {
  const bytes = Buffer.allocUnsafe(bytesOfHead(head))
  putHead(bytes, head)
  return bytes.toString('latin1')
}

function digitsOf(length: number): number {
  if (length < 0) return 0
  let digits = 1
  for (let left = length; left >= 10; left = Math.floor(left / 10)) digits += 1
  return digits
}

const ZERO = 0x30
