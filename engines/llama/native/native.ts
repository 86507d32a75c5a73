import type { GrammarState, Llama, LlamaContext, LlamaModel, Token } from './library.ts'
import { LoadError } from './load-error.ts'

/**
 * What lies below the classes of node-llama-cpp: the objects of its addon, which are thin around llama.cpp's own. They
 * are used directly because the classes above them decide by themselves what is computed together, in which order, and
 * when a token is chosen. They are no public interface. The version is pinned, and what is used is looked for at the start.
 *
 * Nothing here may be called while a batch is being decoded, except to queue the samplings that come after it.
 */
export interface NativeContext {
  /** Makes an empty batch, which replaces the one before. */
  initBatch(tokens: number): void
  /** Tokens of a sequence from a position on. Returns where the logits of those named in `withLogits` will be. */
  addToBatch(sequence: number, from: number, tokens: Uint32Array, withLogits: Uint32Array): Uint32Array
  decodeBatch(): Promise<void>
  /** -1: no token can be chosen. */
  sampleToken(logits: number, sampler: NativeSampler): Promise<Token>
  /** With probabilities: token, share, token, share and so on. */
  sampleToken(logits: number, sampler: NativeSampler, probabilities: true): Promise<[Token, number[] | undefined]>
  /** False if this kind of memory cannot forget a part. */
  removeTokenCellsFromSequence(sequence: number, from: number, to: number): boolean
  /** Forgets all of it. */
  disposeSequence(sequence: number): void
  /** The first position that is still in memory; -1 when there is none. */
  getSequenceKvCacheMinPosition(sequence: number): number
}

export interface NativeSampler {
  applyConfig(config: SamplerConfig): void
  dispose(): void
}

/** How a token is chosen. A sampler tracks its own choices, so the configuration is set once. */
export interface SamplerConfig {
  temperature: number
  topK: number
  topP: number
  minP: number
  seed: number
  repeatPenalty?: number
  repeatPenaltyFrequencyPenalty?: number
  repeatPenaltyPresencePenalty?: number
  repeatPenaltyMaxTokens?: number
  /** The tokens before the first one that it chooses. */
  repeatPenaltyTokens?: Uint32Array
  tokenBiasKeys?: Uint32Array
  tokenBiasValues?: Float32Array
  grammarEvaluationState?: unknown
}

export interface Native {
  context: NativeContext
  createSampler(config: SamplerConfig): NativeSampler
}

const used = [
  'initBatch',
  'addToBatch',
  'decodeBatch',
  'sampleToken',
  'removeTokenCellsFromSequence',
  'disposeSequence',
  'getSequenceKvCacheMinPosition',
] as const satisfies (keyof NativeContext)[]

export function nativeOf(llama: Llama, model: LlamaModel, context: LlamaContext): Native {
  const native = inside(context, '_ctx') as NativeContext
  const nativeModel = inside(model, '_model')
  const { AddonSampler } = inside(llama, '_bindings') as { AddonSampler?: new (model: object) => NativeSampler }
  const missing = used.find((name) => typeof native[name] !== 'function')
  if (missing !== undefined) throw unknownLibrary(missing)
  if (typeof AddonSampler !== 'function') throw unknownLibrary('AddonSampler')
  return {
    context: native,
    createSampler(config) {
      const sampler = new AddonSampler(nativeModel)
      sampler.applyConfig(config)
      return sampler
    },
  }
}

export function nativeGrammarState(state: GrammarState): unknown {
  return inside(state, '_state')
}

function inside(outer: object, name: string): object {
  const value: unknown = Reflect.get(outer, name)
  if (typeof value !== 'object' || value === null) throw unknownLibrary(name)
  return value
}

function unknownLibrary(missing: string): LoadError {
  const fix = 'Install the engine again: flotilla engines install llama'
  return new LoadError(
    `the installed library is not the one that this engine is made for: it has no ${missing}. ${fix}`,
  )
}
