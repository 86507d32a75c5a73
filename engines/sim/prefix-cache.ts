/** Entries beyond this many are dropped even when tokens are left, so that looking up stays cheap. */
const MOST_ENTRIES = 256

/**
 * What an engine remembers of the prompts it has read: recently used token sequences, bounded by the sum of their
 * tokens. A new prompt reuses its longest common prefix with any of them, as engines with a KV cache do.
 */
export class PrefixCache {
  readonly #capacityTokens: number
  /** Least recently used first. */
  readonly #entries: Uint32Array[] = []
  #tokens = 0

  constructor(capacityTokens: number) {
    this.#capacityTokens = capacityTokens
  }

  /** Tokens held now; never more than the capacity. */
  get tokens(): number {
    return this.#tokens
  }

  /** How many leading tokens of `prompt` need not be read again. */
  match(prompt: Uint32Array): number {
    let best = -1
    let longest = 0
    for (const [index, entry] of this.#entries.entries()) {
      const length = commonPrefix(entry, prompt)
      if (length > longest) {
        longest = length
        best = index
      }
    }
    if (best >= 0) this.#touch(best)
    return longest
  }

  remember(sequence: Uint32Array): void {
    if (this.#capacityTokens === 0 || sequence.length === 0) return
    // A copy: the caller's array may be a window on a far larger buffer.
    const kept = sequence.slice(0, this.#capacityTokens)
    for (let index = this.#entries.length - 1; index >= 0; index -= 1) {
      const entry = this.#entries[index]
      if (!entry) continue
      const common = commonPrefix(entry, kept)
      if (common === kept.length) return this.#touch(index)
      // The next turn of a conversation takes the place of the turn before.
      if (common === entry.length) this.#drop(index)
    }
    this.#entries.push(kept)
    this.#tokens += kept.length
    while (this.#tokens > this.#capacityTokens || this.#entries.length > MOST_ENTRIES) this.#drop(0)
  }

  #touch(index: number): void {
    const [entry] = this.#entries.splice(index, 1)
    if (entry) this.#entries.push(entry)
  }

  #drop(index: number): void {
    const [entry] = this.#entries.splice(index, 1)
    this.#tokens -= entry?.length ?? 0
  }
}

function commonPrefix(a: Uint32Array, b: Uint32Array): number {
  const limit = Math.min(a.length, b.length)
  let length = 0
  while (length < limit && a[length] === b[length]) length += 1
  return length
}
