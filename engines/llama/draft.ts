import type { Token } from './native/library.ts'
import type { NativeSampler, SamplerConfig } from './native/native.ts'
import type { Sequence } from './sequences.ts'

/** An answer to write. */
export interface Job {
  prompt: readonly Token[]
  maxTokens: number
  /** Continue after a token that ends answers. */
  ignoreEnd: boolean
  /** Report for each token the probabilities of the alternatives. */
  wantsProbabilities: boolean
  sampling: SamplerConfig
}

export interface Sampled {
  token: Token
  /** Token, share, token, share and so on. */
  probabilities: readonly number[] | undefined
}

/** How far the batcher writes ahead of a slow reader, for example behind a slow client. */
const MOST_AHEAD = 16

/**
 * One answer, between the batcher, which adds tokens, and its reader, which takes them.
 *
 *   waiting ──(a sequence is free)──▶ reading ──(all of the prompt)──▶ writing ──▶ over
 *      └──────────────────────────────────┴─────── failed, or its reader left ─────▶ over
 */
export class Draft {
  readonly job: Job
  readonly sampler: NativeSampler
  sequence: Sequence | undefined
  /** How many tokens of the prompt were in the cache. */
  cachedTokens = 0
  /** The tokens to compute next: the rest of the prompt, then the token that was chosen last. */
  pending: readonly Token[]
  isOver = false
  #written = 0
  #failure: Error | undefined
  readonly #told: Sampled[] = []
  #reader: (() => void) | undefined
  readonly #onRoom: () => void

  constructor(job: Job, sampler: NativeSampler, onRoom: () => void) {
    this.job = job
    this.sampler = sampler
    this.pending = job.prompt
    this.#onRoom = onRoom
  }

  get isReadyToCompute(): boolean {
    return !this.isOver && this.pending.length > 0 && this.#told.length < MOST_AHEAD
  }

  /** The next token; undefined when there are no more. Throws when the computation has failed. */
  async next(): Promise<Sampled | undefined> {
    while (this.#told.length === 0 && !this.isOver) {
      await new Promise<void>((resolve) => {
        this.#reader = resolve
      })
    }
    const wasFull = this.#told.length === MOST_AHEAD
    const sampled = this.#told.shift()
    if (sampled === undefined && this.#failure) throw this.#failure
    if (wasFull) this.#onRoom()
    return sampled
  }

  /** Takes the chosen token, without reporting it yet; returns whether it will be reported. */
  choose(token: Token, isEnd: boolean): boolean {
    this.pending = []
    if (this.isOver || (isEnd && !this.job.ignoreEnd)) return false
    this.#written += 1
    if (this.#written < this.job.maxTokens) this.pending = [token]
    return true
  }

  tell(sampled: Sampled): void {
    this.#told.push(sampled)
    this.#wakeReader()
  }

  /** Ends the draft: the reader gets only tokens that were already reported. */
  close(failure?: Error): void {
    this.isOver = true
    this.#failure ??= failure
    this.#wakeReader()
  }

  #wakeReader(): void {
    this.#reader?.()
    this.#reader = undefined
  }
}
