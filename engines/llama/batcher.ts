import { Draft, type Job, type Sampled } from './draft.ts'
import type { Token } from './native/library.ts'
import type { Native } from './native/native.ts'
import type { Sequences } from './sequences.ts'

export interface BatcherOptions {
  native: Native
  sequences: Sequences
  /** Most tokens that are computed in one step. */
  batchTokens: number
  isEnd: (token: Token) => boolean
  /** Whether what is queued is done one by one in its order; see one-thread.ts. */
  isInOrder: boolean
}

/** What one draft has in a step. */
interface Row {
  draft: Draft
  tokens: readonly Token[]
  /** Where its logits are; undefined while its prompt is not read to the end. */
  logits: number | undefined
}

const NO_LOGITS = new Uint32Array(0)

/**
 * Continuous batching: in each step the next token of every answer that is being written, and as much of the prompts that
 * are being read as has room beside them, is computed in one go. Answers join and leave between steps.
 *
 * Who else is in a step changes nothing of an answer but the rounding of its numbers: llama.cpp computes several rows by other
 * loops than one. A greedy answer differs by it only where two tokens are all but equally likely.
 *
 * All that touches llama.cpp's context happens here, between steps, because it must not happen during one.
 */
export class Batcher {
  readonly #options: BatcherOptions
  /** In order of arrival: prompts are read in it. */
  readonly #drafts = new Set<Draft>()
  /** Left by their readers; what they hold is freed between steps. */
  readonly #left: Draft[] = []
  readonly #guests: (() => Promise<void>)[] = []
  /** Chosen in the step before, not told yet. */
  #news: (() => void)[] = []
  #isRunning = false

  constructor(options: BatcherOptions) {
    this.#options = options
  }

  /** When the signal aborts there are no more tokens; it is to be left all the same. */
  start(job: Job, signal: AbortSignal): Draft {
    const draft = new Draft(job, this.#options.native.createSampler(job.sampling), () => this.#wake())
    signal.addEventListener('abort', () => draft.close(), { once: true })
    this.#drafts.add(draft)
    this.#wake()
    return draft
  }

  /** Its reader wants no more of it. Every draft that was started must be left, once. */
  leave(draft: Draft): void {
    draft.close()
    this.#left.push(draft)
    this.#wake()
  }

  /** Runs what computes in another context by itself: two at a time would fight for cores, and crash some GPU drivers. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#guests.push(() => work().then(resolve, reject))
      this.#wake()
    })
  }

  #wake(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    void this.#run()
  }

  async #run(): Promise<void> {
    for (;;) {
      await this.#guests.shift()?.()
      this.#free()
      const rows = this.#compose()
      if (rows.length > 0) await this.#step(rows)
      else if (this.#news.length > 0) this.#tellNews()
      else if (this.#guests.length === 0 && this.#left.length === 0) break
    }
    // Nothing was awaited since there was found to be nothing to do, so that no call to wake up is missed.
    this.#isRunning = false
  }

  #free(): void {
    for (const draft of this.#left.splice(0)) {
      this.#drafts.delete(draft)
      draft.sampler.dispose()
      if (draft.sequence) this.#options.sequences.giveBack(draft.sequence)
    }
  }

  #compose(): Row[] {
    for (const draft of this.#drafts) if (!draft.sequence && !draft.isOver) this.#seat(draft)
    const ready = [...this.#drafts].filter((draft) => draft.isReadyToCompute)
    // Who writes comes first, so that a long prompt makes the others slower but never wait.
    const writing = ready.filter(({ pending }) => pending.length === 1)
    const reading = ready.filter(({ pending }) => pending.length > 1)
    const rows: Row[] = []
    let room = this.#options.batchTokens
    for (const draft of [...writing, ...reading]) {
      const tokens = draft.pending.slice(0, room)
      room -= tokens.length
      if (tokens.length > 0) rows.push({ draft, tokens, logits: undefined })
    }
    // llama.cpp computes those at a time whose numbers follow one another; out of order each would be computed alone.
    return rows.toSorted((one, other) => one.draft.sequence!.id - other.draft.sequence!.id)
  }

  #seat(draft: Draft): void {
    const { prompt } = draft.job
    draft.sequence = this.#options.sequences.take(prompt)
    draft.cachedTokens = draft.sequence?.tokens.length ?? 0
    draft.pending = prompt.slice(draft.cachedTokens)
  }

  async #step(rows: readonly Row[]): Promise<void> {
    const { native, sequences, isInOrder } = this.#options
    let choosing: Promise<void>[] = []
    try {
      this.#fillBatch(rows)
      const decoded = native.context.decodeBatch()
      if (isInOrder) choosing = rows.map((row) => this.#choose(row))
      // While this is computed, on another thread, who waits is told what came of the step before.
      this.#tellNews()
      await decoded
      if (!isInOrder) choosing = rows.map((row) => this.#choose(row))
    } catch (error) {
      for (const { draft } of rows) {
        draft.close(toError(error))
        sequences.forget(draft.sequence!)
      }
    }
    await Promise.all(choosing)
  }

  #fillBatch(rows: readonly Row[]): void {
    const { context } = this.#options.native
    context.initBatch(rows.reduce((sum, { tokens }) => sum + tokens.length, 0))
    for (const row of rows) {
      const { draft, tokens } = row
      const { id, tokens: known } = draft.sequence!
      const isWhole = tokens.length === draft.pending.length
      const withLogits = isWhole ? Uint32Array.of(tokens.length - 1) : NO_LOGITS
      row.logits = context.addToBatch(id, known.length, Uint32Array.from(tokens), withLogits)[0]
      for (const token of tokens) known.push(token)
      if (!isWhole) draft.pending = draft.pending.slice(tokens.length)
    }
  }

  async #choose({ draft, logits }: Row): Promise<void> {
    if (logits === undefined || draft.isOver) return
    try {
      const sampled = await this.#sample(draft, logits)
      const isTold = draft.choose(sampled.token, this.#options.isEnd(sampled.token))
      const isLast = draft.pending.length === 0
      this.#news.push(() => {
        if (isTold) draft.tell(sampled)
        if (isLast) draft.close()
      })
    } catch (error) {
      draft.close(toError(error))
    }
  }

  async #sample({ job, sampler }: Draft, logits: number): Promise<Sampled> {
    const { context } = this.#options.native
    const [token, probabilities] = job.wantsProbabilities
      ? await context.sampleToken(logits, sampler, true)
      : [await context.sampleToken(logits, sampler)]
    if (token < 0) throw new Error('llama.cpp found no token to go on with')
    return { token, probabilities }
  }

  #tellNews(): void {
    const news = this.#news
    this.#news = []
    for (const tell of news) tell()
  }
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
