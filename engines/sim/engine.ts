import { ApiError, badRequest } from '../lib/api-error.ts'
import { sleep, type Clock } from './clock.ts'
import { embed } from './embedding.ts'
import { Faults } from './faults.ts'
import type { SimOptions } from './options.ts'
import { PrefixCache } from './prefix-cache.ts'
import type { CompletionRequest, EmbeddingRequest } from './requests.ts'
import { Slots, type Ticket } from '../lib/slots.ts'
import { waitForSlot } from '../lib/wait-for-slot.ts'
import { writeTokens, type FinishReason } from './text.ts'
import { timeToFirstTokenMs, tokenDelayMs } from './timing.ts'
import { hash, hashTokens } from './tokens.ts'

/**
 * Tokens handed over at a time when many are due; small enough that an abort is noticed and other streams get their
 * turn.
 */
const MOST_TOKENS_AT_ONCE = 64

/** What an answer has cost so far; final when its tokens have ended. */
export interface Tally {
  promptTokens: number
  cachedTokens: number
  completionTokens: number
  finishReason: FinishReason
}

/** One answer in the making. */
export interface Run {
  tally: Tally
  /** Tokens as they fall due, in groups. Ends early, without an error, when the client disconnects. */
  tokens: AsyncGenerator<string[], void>
}

/** The simulated engine without its HTTP: slots, prefix cache, pace, faults and counters. */
export class Engine {
  readonly options: SimOptions
  readonly faults: Faults
  readonly startedMs = Date.now()
  readonly counters = {
    requests: 0,
    finished: 0,
    aborted: 0,
    rejected: 0,
    refused: 0,
    promptTokens: 0,
    cachedTokens: 0,
    completionTokens: 0,
    prefixHits: 0,
  }
  readonly slots: Slots
  readonly #cache: PrefixCache
  readonly #clock: Clock

  constructor(options: SimOptions, clock: Clock, crash: (exitCode: number) => void) {
    this.options = options
    this.#clock = clock
    this.#cache = new PrefixCache(options.prefixCacheTokens)
    const { parallel, queueLimit } = options
    this.slots = new Slots({ parallel, queueLimit, nowMs: () => clock.nowMs() })
    this.faults = new Faults(crash)
    if (options.fault) this.faults.set(options.fault)
  }

  /** Throws errors that need no look at the request. */
  admit(ready: boolean): void {
    if (!ready) throw new ApiError(503, 'The model is still loading.', { code: 'model_loading', retryAfterS: 1 })
    if (this.faults.active !== 'refuse') return
    this.counters.refused += 1
    throw new ApiError(this.faults.planned.status, 'Refused, as the fault that was set demands.', {
      code: 'simulated_refusal',
    })
  }

  /** Checks the request against the context and returns a run; the caller pulls its tokens. */
  complete(request: CompletionRequest, signal: AbortSignal, param: 'messages' | 'prompt'): Run {
    const { contextTokens } = this.options
    const prompt = hashTokens(request.prompt, contextTokens)
    if (prompt.count >= contextTokens) throw tooLong(contextTokens, prompt.count, param)
    const tally: Tally = { promptTokens: prompt.count, cachedTokens: 0, completionTokens: 0, finishReason: 'stop' }
    return { tally, tokens: this.#write(request, prompt.hashes, tally, signal) }
  }

  /** Vectors take a slot and the time of their prefill, nothing more. */
  async embed(
    request: EmbeddingRequest,
    signal: AbortSignal,
  ): Promise<{ vectors: Float32Array[]; promptTokens: number }> {
    const { contextTokens, timing } = this.options
    const counts = request.inputs.map((input) => hashTokens(input, 0).count)
    const longest = Math.max(...counts)
    if (longest > contextTokens) throw tooLong(contextTokens, longest, 'input')
    const promptTokens = counts.reduce((sum, count) => sum + count, 0)
    const ticket = await this.#enter(signal)
    try {
      const waitMs = timeToFirstTokenMs(timing, promptTokens, 0) * this.faults.factor
      if (waitMs > 0) await sleep(this.#clock, waitMs, signal)
      if (signal.aborted) return { vectors: [], promptTokens }
      this.counters.promptTokens += promptTokens
      return { vectors: request.inputs.map((input) => embed(input, request.dimensions)), promptTokens }
    } finally {
      this.#leave(ticket, signal)
    }
  }

  async *#write(
    request: CompletionRequest,
    prompt: Uint32Array,
    tally: Tally,
    signal: AbortSignal,
  ): AsyncGenerator<string[], void> {
    const { model, seed, timing, contextTokens } = this.options
    const ticket = await this.#enter(signal)
    try {
      if (signal.aborted) return
      tally.cachedTokens = this.#reuse(prompt)
      const source = writeTokens({
        model,
        seed: request.seed ?? seed,
        prompt: request.prompt,
        asked: request.asked,
        maxTokens: Math.min(request.maxTokens ?? Infinity, contextTokens - prompt.length),
        ignoreEnd: request.ignoreEnd,
        stop: request.stop,
      })
      const written: number[] = []
      // Each token is due a fixed time after the one before it was due, not after it was sent: late timers never add up.
      let dueMs =
        this.#clock.nowMs() + timeToFirstTokenMs(timing, prompt.length, tally.cachedTokens) * this.faults.factor
      let next = source.next()
      while (!next.done) {
        dueMs = await this.#waitUntil(dueMs, signal)
        if (signal.aborted) return
        if (written.length === 0) this.#cache.remember(prompt)
        const group: string[] = []
        const nowMs = this.#clock.nowMs()
        const most = Math.min(MOST_TOKENS_AT_ONCE, this.faults.tokensUntilFault)
        for (; !next.done && group.length < most && dueMs <= nowMs; next = source.next()) {
          group.push(next.value)
          written.push(hash(next.value))
          dueMs += tokenDelayMs(timing) * this.faults.factor
        }
        // Timers may fire a little early by the clock that counts here.
        if (group.length === 0) continue
        tally.completionTokens += group.length
        this.counters.completionTokens += group.length
        // Counted before they are handed over: streams side by side must not each write what is left before a fault.
        this.faults.countTokens(group.length)
        if (next.done) tally.finishReason = next.value
        yield group
      }
      await this.faults.passed(signal)
      // The answer is part of the next turn's prompt, so the engine remembers it with the prompt.
      this.#cache.remember(joined(prompt, written))
    } finally {
      this.#leave(ticket, signal)
    }
  }

  /** Until a token is due and nothing hangs. After a hang the line of due times starts anew, without a burst. */
  async #waitUntil(dueMs: number, signal: AbortSignal): Promise<number> {
    const waitMs = dueMs - this.#clock.nowMs()
    // Timers count in whole milliseconds and would round down.
    if (waitMs > 0) await sleep(this.#clock, Math.ceil(waitMs), signal)
    else await new Promise((resolve) => setImmediate(resolve))
    if (this.faults.active !== 'hang' && this.faults.active !== 'crash') return dueMs
    await this.faults.passed(signal)
    return this.#clock.nowMs()
  }

  #reuse(prompt: Uint32Array): number {
    const cached = this.#cache.match(prompt)
    this.counters.promptTokens += prompt.length
    this.counters.cachedTokens += cached
    if (cached > 0) this.counters.prefixHits += 1
    return cached
  }

  /** Waits for a slot. The ticket must be given back by `#leave`, whatever happened. */
  async #enter(signal: AbortSignal): Promise<Ticket> {
    const ticket = await waitForSlot(this.slots, signal)
    if (!ticket) {
      this.counters.rejected += 1
      const why = `The engine is busy: all ${this.options.parallel} slots are in use and the queue is full.`
      throw new ApiError(429, why, { code: 'queue_full', retryAfterS: 1 })
    }
    return ticket
  }

  #leave(ticket: Ticket, signal: AbortSignal): void {
    this.slots.leave(ticket)
    if (!signal.aborted) this.counters.finished += 1
  }
}

function joined(prompt: Uint32Array, written: readonly number[]): Uint32Array {
  const whole = new Uint32Array(prompt.length + written.length)
  whole.set(prompt)
  whole.set(written, prompt.length)
  return whole
}

function tooLong(contextTokens: number, promptTokens: number, param: string): ApiError {
  return badRequest(
    `This model's maximum context length is ${contextTokens} tokens. However, your ${param} resulted in ` +
      `${promptTokens} tokens. Please reduce the length of the ${param}.`,
    param,
    'context_length_exceeded',
  )
}
