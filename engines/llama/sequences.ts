import type { Token } from './native/library.ts'
import type { NativeContext } from './native/native.ts'

/** One of the texts that a context works on in parallel, with its tokens in the cache. */
export interface Sequence {
  readonly id: number
  readonly tokens: Token[]
}

type Memory = Pick<NativeContext, 'removeTokenCellsFromSequence' | 'disposeSequence' | 'getSequenceKvCacheMinPosition'>

/**
 * The sequences of a context. Each keeps what it read last, and a prompt gets the free one with the longest common
 * beginning: the next turn of a conversation finds the turns before, and prompts with the same beginning share it.
 */
export class Sequences {
  readonly #memory: Memory
  /** Least recently used first: among equally good ones, the first one's cache is worth least. */
  readonly #free: Sequence[]

  constructor(memory: Memory, count: number) {
    this.#memory = memory
    this.#free = Array.from({ length: count }, (_, id) => ({ id, tokens: [] }))
  }

  /** A free sequence, if any, cut to its common beginning with the prompt: its `tokens` are that beginning. */
  take(prompt: readonly Token[]): Sequence | undefined {
    const [sequence] = this.#free.splice(bestFor(prompt, this.#free), 1)
    // The last token is always read again, since its logits give the next token.
    if (sequence) this.#forgetAfter(sequence, commonLength(sequence.tokens, prompt, prompt.length - 1))
    return sequence
  }

  giveBack(sequence: Sequence): void {
    this.#free.push(sequence)
  }

  /** Clears a sequence whose cache may be incomplete. */
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
    // A short common beginning, such as a template's greeting, is not worth losing a long cache of another text.
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
