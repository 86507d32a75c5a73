import { RepeatedHead } from './head-template.ts'

/** A head that was seen before, and what is known of requests with it. */
export interface Familiar {
  readonly head: RepeatedHead
  readonly known: unknown
}

/** Enough for the kinds of clients times the paths they use. The limit on the length keeps the cache below 2 MB. */
const MOST = 500
const MOST_HEAD_BYTES = 4096

/**
 * The latest head for each first line, shared by all connections. The key is a hash of the line; two lines with the same
 * hash replace each other.
 */
export class FamiliarHeads {
  readonly #byFirstLine = new Map<number, Familiar>()

  find(bytes: Buffer): Familiar | undefined {
    const found = this.#byFirstLine.get(numberOf(bytes))
    return found?.head.matches(bytes) ? found : undefined
  }

  /** The head ends at `end`. Undefined when it cannot be recognized again: too long, or without a length. */
  add(bytes: Buffer, end: number, known: unknown): Familiar | undefined {
    const head = end <= MOST_HEAD_BYTES ? RepeatedHead.of(bytes.toString('latin1', 0, end)) : undefined
    if (!head) return undefined
    if (this.#byFirstLine.size >= MOST) this.#byFirstLine.clear()
    const familiar = { head, known }
    this.#byFirstLine.set(numberOf(bytes), familiar)
    return familiar
  }
}

const CR = 0x0d

function numberOf(bytes: Buffer): number {
  const most = Math.min(MOST_HEAD_BYTES, bytes.length)
  let number = 0
  for (let at = 0; at < most && bytes[at] !== CR; at += 1) number = (Math.imul(number, 31) + bytes[at]!) | 0
  return number
}
