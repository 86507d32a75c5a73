import { availableParallelism } from 'node:os'
import type { AnswerFormat } from '../answers/answer-format.ts'
import { ChatTemplate } from '../answers/chat-template.ts'
import { Grammars } from '../grammars.ts'
import { attentionOf } from '../vectors/attention.ts'
import { Batcher } from '../batcher.ts'
import type { GrammarState, Llama, LlamaContext, LlamaLibrary, LlamaModel, Token } from './library.ts'
import type { LlamaEngineOptions } from '../options.ts'
import { nativeOf } from './native.ts'
import { checkRoomForContext, checkRoomForModel } from '../room.ts'
import { Sequences } from '../sequences.ts'
import { chooseThreads } from './threads.ts'
import { embedder, openRanker, writesText, type Ranker } from '../vectors/vectors.ts'

/** A model in memory, with all operations on it. */
export interface OpenModel {
  llamaModel: LlamaModel
  template: ChatTemplate
  /** The maximum of prompt and answer together. */
  contextTokens: number
  /** Undefined: the model writes no text. */
  batcher: Batcher | undefined
  threads: number
  gpu: string | false
  /** A text, or tokens that the client has counted itself, as the model reads it. */
  tokensOf(input: string | readonly Token[]): Token[]
  /** Whether a token ends an answer. */
  isEnd(token: Token): boolean
  grammarState(format: AnswerFormat): Promise<GrammarState | undefined>
  embed(tokens: readonly Token[]): Promise<readonly number[]>
  /** Undefined: the model cannot rank. */
  ranker: Ranker | undefined
}

export interface OpenHooks {
  onProgress: (share: number) => void
  /** A line of llama.cpp's log. */
  onLine: (level: string, line: string) => void
}

/** The default. Models are trained for far longer contexts than a machine has memory for; --context sets more. */
const DEFAULT_CONTEXT_TOKENS = 8192

export async function openModel(
  library: LlamaLibrary,
  options: Omit<LlamaEngineOptions, 'port' | 'host' | 'library' | 'alias' | 'queueLimit'>,
  isInOrder: boolean,
  hooks: OpenHooks,
): Promise<OpenModel> {
  const llama = await library.getLlama({
    gpu: options.gpu === 'off' ? false : options.gpu,
    build: 'never',
    skipDownload: true,
    progressLogs: false,
    // No limit of its own: each context is told how many threads to use.
    maxThreads: 0,
    logLevel: 'warn',
    logger: hooks.onLine,
  })
  if (llama.gpu === false) checkRoomForModel(options.modelFile, process.availableMemory())
  const model = await llama.loadModel({
    modelPath: options.modelFile,
    ...(options.gpuLayers !== undefined && { gpuLayers: options.gpuLayers }),
    useMmap: options.mmap,
    onLoadProgress: hooks.onProgress,
  })
  const threads = options.threads ?? chooseThreads(llama.cpuMathCores, availableParallelism())
  const isWriter = writesText(model)
  const most = mostTokens(model, options.contextTokens, isWriter)
  const asked = options.contextTokens ?? { max: most }
  if (isWriter) checkRoomForContext(model, most, options.parallel, process.availableMemory())
  const context = isWriter
    ? await model.createContext({
        contextSize: asked,
        sequences: options.parallel,
        ...(options.batchTokens !== undefined && { batchSize: options.batchTokens }),
        ...attentionOf(model, llama.gpu !== false, options.flashAttention),
        threads,
      })
    : undefined
  const batcher = context && batcherOf(llama, model, context, options.parallel, isInOrder)
  // llama.cpp rounds contexts up; the requested size is the limit.
  const contextTokens = Math.min(most, context?.contextSize ?? most)
  return {
    llamaModel: model,
    template: new ChatTemplate(library, model),
    contextTokens,
    batcher,
    threads,
    gpu: llama.gpu,
    tokensOf: (input) => tokensOf(model, input),
    isEnd: (token) => model.isEogToken(token),
    grammarState: grammarStates(library, llama, model),
    embed: embedder(model, contextTokens, threads, batcher),
    ranker: model.fileInsights.supportsRanking ? await openRanker(model, contextTokens, threads) : undefined,
  }
}

/** Embedding models often support positions only up to a number, and llama.cpp ends the process beyond it. */
function mostTokens({ trainContextSize }: LlamaModel, asked: number | undefined, isWriter: boolean): number {
  if (asked === undefined) return Math.min(trainContextSize, DEFAULT_CONTEXT_TOKENS)
  return isWriter ? asked : Math.min(trainContextSize, asked)
}

function batcherOf(
  llama: Llama,
  model: LlamaModel,
  context: LlamaContext,
  parallel: number,
  isInOrder: boolean,
): Batcher {
  const native = nativeOf(llama, model, context)
  return new Batcher({
    native,
    sequences: new Sequences(native.context, parallel),
    batchTokens: context.batchSize,
    isEnd: (token) => model.isEogToken(token),
    isInOrder,
  })
}

function tokensOf(model: LlamaModel, input: string | readonly Token[]): Token[] {
  if (typeof input !== 'string') return [...input]
  const tokens = model.tokenize(input, true)
  const { bos, shouldPrependBosToken } = model.tokens
  return bos !== null && shouldPrependBosToken && tokens[0] !== bos ? [bos, ...tokens] : tokens
}

function grammarStates(library: LlamaLibrary, llama: Llama, model: LlamaModel): OpenModel['grammarState'] {
  const grammars = new Grammars(llama)
  return async (format) => {
    const grammar = await grammars.of(format, 'response_format')
    return grammar && new library.LlamaGrammarEvaluationState({ model, grammar })
  }
}
