import { randomFillSync } from 'node:crypto'
import type { HttpRequest } from '../../http/exchange.ts'

/** The client's own id, so that it can find its request in the records; otherwise a new one. */
export function requestIdOf({ headers }: HttpRequest): string {
  const given = headers['x-request-id']
  if (typeof given !== 'string' || !/^[\x20-\x7e]{1,128}$/.test(given)) return newRequestId()
  // A string of its own: a slice would keep the whole head in memory for as long as the record.
  return Buffer.from(given, 'latin1').toString('latin1')
}

const RANDOM = new Uint8Array(16 * 1024)
const TEXT = Buffer.from('00000000-0000-4000-8000-000000000000', 'latin1')
const DIGITS = Buffer.from('0123456789abcdef', 'latin1')
/** Where the digits of each random byte go; the version and variant digits are overwritten afterwards. */
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]
let used = RANDOM.length

let prepared: string | undefined

/** A random UUID. */
export function newRequestId(): string {
  const id = prepared ?? makeId()
  prepared = undefined
  return id
}

/** Makes the next id ahead of time, so that the next request leaves a microsecond earlier. */
export function prepareRequestId(): void {
  prepared ??= makeId()
}

/** Node's own UUID is a rope of twenty strings, which the record would keep; this one is flat, and takes half the time. */
function makeId(): string {
  if (used === RANDOM.length) {
    randomFillSync(RANDOM)
    used = 0
  }
  for (let i = 0; i < PLACES.length; i += 1) {
    const byte = RANDOM[used + i]!
    const at = PLACES[i]!
    TEXT[at] = DIGITS[byte >> 4]!
    TEXT[at + 1] = DIGITS[byte & 15]!
  }
  TEXT[VERSION_AT] = DIGITS[4]!
  TEXT[VARIANT_AT] = DIGITS[8 + (RANDOM[used + 8]! & 3)]!
  used += PLACES.length
  return TEXT.toString('latin1')
}

const VERSION_AT = 14
const VARIANT_AT = 19
