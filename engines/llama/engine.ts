import { ApiError, badRequest } from '../lib/api-error.ts'
import { Slots, type Ticket } from '../lib/slots.ts'
import { waitForSlot } from '../lib/wait-for-slot.ts'
import type { Batcher } from './batcher.ts'
import type { Job } from './draft.ts'
import { generate, type Piece, type Tally, type Wording } from './generate.ts'
import type { Token } from './native/library.ts'
import type { OpenModel } from './native/open-model.ts'
import type { LlamaEngineOptions } from './options.ts'
import type { ChatRequest, CompletionRequest, TextRequest } from './requests.ts'
import { samplerConfig } from './native/sampler-config.ts'
import { tooLong } from './too-long.ts'

/** One running answer; the caller pulls its pieces. */
export interface Run {
  tally: Tally
  pieces: AsyncGenerator<Piece, void>
}

type Settings = Pick<LlamaEngineOptions, 'alias' | 'parallel' | 'queueLimit'>

/** The engine without HTTP: it schedules requests, reads prompts, writes answers and counts. */
export class LlamaEngine {
  readonly settings: Settings
  readonly model: OpenModel
  readonly slots: Slots
  readonly counters = {
    requests: 0,
    finished: 0,
    aborted: 0,
    rejected: 0,
    promptTokens: 0,
    cachedTokens: 0,
    completionTokens: 0,
  }
  readonly #randomSeed: () => number

  constructor(settings: Settings, model: OpenModel, nowMs: () => number, randomSeed: () => number) {
    this.settings = settings
    this.model = model
    this.slots = new Slots({ parallel: settings.parallel, queueLimit: settings.queueLimit, nowMs })
    this.#randomSeed = randomSeed
  }

  async chat(request: ChatRequest, signal: AbortSignal): Promise<Run> {
    const { template } = this.model
    // The template's text contains the beginning of a conversation, so no further start token is added.
    const prompt = this.model.tokensOf(template.render(request))
    const format = request.tools?.forced ? { kind: 'schema' as const, schema: request.tools.forced } : request.format
    return this.#run({ ...request, format }, prompt, 'messages', request.tools !== undefined, signal)
  }

  async complete(request: TextRequest, signal: AbortSignal): Promise<Run> {
    const { prompt } = request
    return this.#run(request, this.model.tokensOf(prompt), 'prompt', false, signal)
  }

  /** Vectors of unit length, one for each input. */
  async embed(
    inputs: readonly (string | number[])[],
    dimensions: number | undefined,
    signal: AbortSignal,
  ): Promise<{ vectors: Float32Array[]; promptTokens: number }> {
    const tokens = inputs.map((input) => this.model.tokensOf(input))
    const longest = Math.max(...tokens.map(({ length }) => length))
    if (longest >= this.model.contextTokens) throw tooLong(this.model.contextTokens, longest, 'input')
    return this.#inSlot(signal, async () => {
      const vectors: Float32Array[] = []
      let promptTokens = 0
      for (const input of tokens) {
        if (signal.aborted) break
        promptTokens += input.length
        vectors.push(unit(await this.model.embed(input), dimensions))
      }
      this.counters.promptTokens += promptTokens
      return { vectors, promptTokens }
    })
  }

  /** How well each document answers the query, from 0 to 1. The query is read again with each of them. */
  async rank(
    query: string,
    documents: readonly string[],
    signal: AbortSignal,
  ): Promise<{ scores: number[]; promptTokens: number }> {
    const { ranker, contextTokens } = this.model
    if (!ranker) {
      throw badRequest(
        'This model cannot rank documents. Ask a model that is made for ranking.',
        'model',
        'unsupported_model',
      )
    }
    const lengths = documents.map((document) => ranker.lengthOf(query, document))
    const longest = Math.max(...lengths)
    if (longest >= contextTokens) throw tooLong(contextTokens, longest, 'documents')
    return this.#inSlot(signal, async () => {
      const scores: number[] = []
      let promptTokens = 0
      for (const [index, document] of documents.entries()) {
        if (signal.aborted) break
        promptTokens += lengths[index]!
        scores.push(await ranker.score(query, document))
      }
      this.counters.promptTokens += promptTokens
      return { scores, promptTokens }
    })
  }

  async #run(
    request: CompletionRequest,
    prompt: Token[],
    param: 'messages' | 'prompt',
    showSpecial: boolean,
    signal: AbortSignal,
  ): Promise<Run> {
    const { contextTokens, batcher } = this.model
    if (!batcher) throw badRequest('This model writes no text; it is for embeddings or ranking.', undefined, 'no_text')
    if (prompt.length === 0) throw badRequest(`'${param}' must not be empty.`, param)
    if (prompt.length >= contextTokens) throw tooLong(contextTokens, prompt.length, param)
    const { logprobs, stop, ignoreEnd, sampling } = request
    const grammar = await this.model.grammarState(request.format)
    const seed = sampling.seed ?? this.#randomSeed()
    const job: Job = {
      prompt,
      maxTokens: Math.min(request.maxTokens ?? Infinity, contextTokens - prompt.length),
      ignoreEnd,
      wantsProbabilities: logprobs !== undefined,
      sampling: samplerConfig(sampling, seed, prompt, (token) => this.model.isEnd(token), grammar),
    }
    const tally: Tally = {
      promptTokens: prompt.length,
      cachedTokens: 0,
      completionTokens: 0,
      finishReason: 'stop',
    }
    return { tally, pieces: this.#write(batcher, job, { stop, showSpecial, logprobs }, tally, signal) }
  }

  async *#write(
    batcher: Batcher,
    job: Job,
    wording: Wording,
    tally: Tally,
    signal: AbortSignal,
  ): AsyncGenerator<Piece, void> {
    const ticket = await this.#enter(signal)
    try {
      if (signal.aborted) return
      const draft = batcher.start(job, signal)
      try {
        yield* generate(this.model.llamaModel, draft, wording, tally, signal)
      } finally {
        batcher.leave(draft)
        tally.cachedTokens = draft.cachedTokens
        this.counters.promptTokens += tally.promptTokens
        this.counters.cachedTokens += tally.cachedTokens
        this.counters.completionTokens += tally.completionTokens
      }
    } finally {
      this.#leave(ticket, signal)
    }
  }

  async #inSlot<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const ticket = await this.#enter(signal)
    try {
      return await work()
    } finally {
      this.#leave(ticket, signal)
    }
  }

  async #enter(signal: AbortSignal): Promise<Ticket> {
    const ticket = await waitForSlot(this.slots, signal)
    if (ticket) return ticket
    this.counters.rejected += 1
    const why = `The engine is busy: all ${this.settings.parallel} slots are in use and the queue is full.`
    throw new ApiError(429, why, { code: 'queue_full', retryAfterS: 1 })
  }

  #leave(ticket: Ticket, signal: AbortSignal): void {
    this.slots.leave(ticket)
    if (!signal.aborted) this.counters.finished += 1
  }
}

/** Keeps the first dimensions and normalizes them: models trained for this stay useful. */
function unit(given: readonly number[], dimensions = given.length): Float32Array {
  if (dimensions > given.length) {
    throw badRequest(`This model's vectors have ${given.length} dimensions, not ${dimensions}.`, 'dimensions')
  }
  const vector = Float32Array.from(given.slice(0, dimensions))
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  return length === 0 ? vector : vector.map((value) => value / length)
}
