import { Draft, type Job, type Sampled } from './draft.ts'
import type { Token } from './native/library.ts'
import type { Native } from './native/native.ts'
import type { Sequences } from './sequences.ts'

export interface BatcherOptions {
  native: Native
  sequences: Sequences
  /** The maximum number of tokens in one step. */
  batchTokens: number
  isEnd: (token: Token) => boolean
  /** Whether queued work runs one by one in its order; see one-thread.ts. */
  isInOrder: boolean
}

/** The part of one draft in a step. */
interface Row {
  draft: Draft
  tokens: readonly Token[]
  /** The index of its logits; undefined while its prompt is not completely read. */
  logits: number | undefined
}

const NO_LOGITS = new Uint32Array(0)

/**
 * Continuous batching: each step computes the next token of every answer that is being written, and as many prompt
 * tokens as fit beside them, at once. Answers join and leave between steps.
 *
 * The other answers in a step change only the rounding of an answer's numbers: llama.cpp computes several rows by other
 * loops than a single one. A greedy answer differs only where two tokens are almost equally likely.
 *
 * All calls of llama.cpp's context happen here, between steps, because they are not allowed during one.
 */
export class Batcher {
  readonly #options: BatcherOptions
  /** In order of arrival, in which prompts are read. */
  readonly #drafts = new Set<Draft>()
  /** Drafts whose readers have left; their memory is freed between steps. */
  readonly #left: Draft[] = []
  readonly #guests: (() => Promise<void>)[] = []
  /** Results of the step before, not reported yet. */
  #news: (() => void)[] = []
  #isRunning = false

  constructor(options: BatcherOptions) {
    this.#options = options
  }

  /** When the signal aborts, no more tokens come; the caller must still call `leave`. */
  start(job: Job, signal: AbortSignal): Draft {
    const draft = new Draft(job, this.#options.native.createSampler(job.sampling), () => this.#wake())
    signal.addEventListener('abort', () => draft.close(), { once: true })
    this.#drafts.add(draft)
    this.#wake()
    return draft
  }

  /** The reader wants no more tokens. Every started draft must be left, once. */
  leave(draft: Draft): void {
    draft.close()
    this.#left.push(draft)
    this.#wake()
  }

  /** Runs work in another context exclusively: two at a time would compete for cores, and crash some GPU drivers. */
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
    // No await since the check found no work, so that no wake-up is missed.
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
    // Answers being written come first, so that a long prompt slows them down but never stops them.
    const writing = ready.filter(({ pending }) => pending.length === 1)
    const reading = ready.filter(({ pending }) => pending.length > 1)
    const rows: Row[] = []
    let room = this.#options.batchTokens
    for (const draft of [...writing, ...reading]) {
      const tokens = draft.pending.slice(0, room)
      room -= tokens.length
      if (tokens.length > 0) rows.push({ draft, tokens, logits: undefined })
    }
    // llama.cpp batches rows with consecutive sequence numbers; out of order each would be computed alone.
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
      // While another thread computes this step, readers get the results of the step before.
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
