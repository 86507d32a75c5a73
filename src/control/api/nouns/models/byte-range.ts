/** A part of a file, both ends included. */
export interface ByteRange {
  first: number
  last: number
}

/**
 * What a `Range` header asks for of a file of this size. Undefined: the whole file, also when several parts are asked for
 * or the header makes no sense, as the standard allows. `beyond`: nothing of it is there.
 */
export function readRange(header: string | undefined, size: number): ByteRange | 'beyond' | undefined {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '')
  if (!match || (match[1] === '' && match[2] === '')) return undefined
  if (match[1] === '') {
    const length = Math.min(Number(match[2]), size)
    return length === 0 ? 'beyond' : { first: size - length, last: size - 1 }
  }
  const first = Number(match[1])
  const last = match[2] === '' ? size - 1 : Math.min(Number(match[2]), size - 1)
  if (match[2] !== '' && Number(match[2]) < first) return undefined
  return first >= size ? 'beyond' : { first, last }
}
