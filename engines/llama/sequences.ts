import type { Token } from './native/library.ts'
import type { NativeContext } from './native/native.ts'

/** One of the texts that a context works on at a time, with the tokens of it that are in its memory. */
export interface Sequence {
  readonly id: number
  readonly tokens: Token[]
}

type Memory = Pick<NativeContext, 'removeTokenCellsFromSequence' | 'disposeSequence' | 'getSequenceKvCacheMinPosition'>

/**
 * The sequences of a context. Each remembers what it read last, so a prompt gets the free one that has most of it:
 * the next turn of a conversation finds the turns before, and prompts that begin alike share their beginning.
 */
export class Sequences {
  readonly #memory: Memory
  /** Those used longest ago first: of equally good ones that is the one whose memory is worth least. */
  readonly #free: Sequence[]

  constructor(memory: Memory, count: number) {
    this.#memory = memory
    this.#free = Array.from({ length: count }, (_, id) => ({ id, tokens: [] }))
  }

  /** A free one, if there is any, that remembers nothing but a beginning of the prompt: what it has in `tokens`. */
  take(prompt: readonly Token[]): Sequence | undefined {
    const [sequence] = this.#free.splice(bestFor(prompt, this.#free), 1)
    // The last token is always read again: what follows comes from reading it.
    if (sequence) this.#forgetAfter(sequence, commonLength(sequence.tokens, prompt, prompt.length - 1))
    return sequence
  }

  giveBack(sequence: Sequence): void {
    this.#free.push(sequence)
  }

  /** For one whose memory may be half of something. */
  forget(sequence: Sequence): void {
    sequence.tokens.length = 0
    this.#memory.disposeSequence(sequence.id)
  }

  #forgetAfter(sequence: Sequence, length: number): void {
    const { id, tokens } = sequence
    if (length === tokens.length) return
    // Models with a sliding window have dropped the beginning, and those with a state cannot go back in it. Nothing is
    // ever moved to another position, because an answer must not depend on what was asked before.
    const hasBeginning = this.#memory.getSequenceKvCacheMinPosition(id) <= 0
    if (length === 0 || !hasBeginning || !this.#memory.removeTokenCellsFromSequence(id, length, -1)) {
      return this.forget(sequence)
    }
    tokens.length = length
  }
}

function bestFor(prompt: readonly Token[], free: readonly Sequence[]): number {
  let best = 0
  let longest = -1
  for (const [index, { tokens }] of free.entries()) {
    const common = commonLength(tokens, prompt, prompt.length)
    // A short common beginning, a greeting of the template say, is not worth losing a long memory of something else.
    const isWorthwhile = common * 2 >= tokens.length || common * 2 >= prompt.length
    const worth = isWorthwhile ? common : 0
    if (worth > longest) {
      longest = worth
      best = index
    }
  }
  return best
}

function commonLength(one: readonly Token[], other: readonly Token[], most: number): number {
  const end = Math.min(one.length, other.length, most)
  for (let at = 0; at < end; at += 1) if (one[at] !== other[at]) return at
  return end
}
