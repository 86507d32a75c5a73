import { RepeatedHead } from './head-template.ts'

/** A head that has come before, and what is known of requests that have it. */
export interface Familiar {
  readonly head: RepeatedHead
  readonly known: unknown
}

/** As many as there are clients with ways of their own to ask, times what they ask for. With longer ones it would be megabytes. */
const MOST = 500
const MOST_HEAD_BYTES = 4096

/**
 * The heads that came last, one for each first line: what was learnt on one connection is known on all. Lines are told apart
 * by a number that is made of them: two with the same one take turns.
 */
export class FamiliarHeads {
  readonly #byFirstLine = new Map<number, Familiar>()

  find(bytes: Buffer): Familiar | undefined {
    const found = this.#byFirstLine.get(numberOf(bytes))
    return found?.head.matches(bytes) ? found : undefined
  }

  /** The head ends at `end`. Undefined when it is none that could be known again. */
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
