import type { Token } from './native/library.ts'
import type { NativeSampler, SamplerConfig } from './native/native.ts'
import type { Sequence } from './sequences.ts'

/** What is to be written. */
export interface Job {
  prompt: readonly Token[]
  maxTokens: number
  /** Goes on after a token that ends answers. */
  ignoreEnd: boolean
  /** Tells of each token how likely all of them were in its place. */
  wantsProbabilities: boolean
  sampling: SamplerConfig
}

export interface Sampled {
  token: Token
  /** Token, share, token, share and so on. */
  probabilities: readonly number[] | undefined
}

/** A reader that is slow, behind a slow client say, is not written for further ahead than this. */
const MOST_AHEAD = 16

/**
 * One answer between the batcher, which adds tokens, and its reader, who takes them.
 *
 *   waiting ──(a sequence is free)──▶ reading ──(all of the prompt)──▶ writing ──▶ over
 *      └──────────────────────────────────┴─────── failed, or its reader left ─────▶ over
 */
export class Draft {
  readonly job: Job
  readonly sampler: NativeSampler
  sequence: Sequence | undefined
  /** Of the prompt, what was remembered from before. */
  cachedTokens = 0
  /** The tokens to compute next: what is left of the prompt, then the token that was chosen last. */
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

  /** The next token, or nothing when there are no more. Throws when computing has failed. */
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

  /** Takes the token that was chosen. Nothing is told yet; returns whether it is one to be told. */
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

  /** No more tokens come, except those that were told. */
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
