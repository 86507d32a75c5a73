import { pathToFileURL } from 'node:url'

/**
 * The part of node-llama-cpp, and of the Jinja renderer that comes with it, that this engine uses. Neither is a
 * dependency of Flotilla: an installation is a folder with one module that exports both, and it is imported at run
 * time.
 */
export interface LlamaLibrary {
  getLlama: (options: LlamaOptions) => Promise<Llama>
  LlamaGrammarEvaluationState: new (options: { model: LlamaModel; grammar: LlamaGrammar }) => GrammarState
  Template: new (text: string) => { render(values: Record<string, unknown>): string }
}

/** An index into the vocabulary. */
export type Token = number

export interface LlamaOptions {
  gpu: 'auto' | 'cuda' | 'vulkan' | 'metal' | false
  build: 'never'
  skipDownload: true
  progressLogs: false
  maxThreads: number
  logLevel: 'warn'
  logger: (level: string, message: string) => void
}

export interface Llama {
  gpu: string | false
  /** Cores for arithmetic: one of each pair of hyper-threads, no efficiency cores. */
  cpuMathCores: number
  maxThreads: number
  loadModel(options: LoadOptions): Promise<LlamaModel>
  createGrammar(options: { grammar: string }): Promise<LlamaGrammar>
  createGrammarForJsonSchema(schema: unknown): Promise<LlamaGrammar>
}

export interface LoadOptions {
  modelPath: string
  gpuLayers?: number
  useMmap?: boolean
  onLoadProgress: (share: number) => void
}

export interface LlamaGrammar {
  grammar: string
}

/** The position of a text in a grammar. One for each answer. */
export type GrammarState = object

export interface LlamaModel {
  trainContextSize: number
  tokens: {
    bos: Token | null
    bosString: string | null
    eosString: string | null
    shouldPrependBosToken: boolean
  }
  fileInfo: {
    metadata: { tokenizer?: { chat_template?: string } }
    architectureMetadata: {
      embedding_length?: number
      pooling_type?: number
      attention?: {
        head_count?: number | number[]
        key_length?: number
        value_length?: number
        causal?: boolean
      }
    }
  }
  fileInsights: {
    hasEncoder: boolean
    hasDecoder: boolean
    supportsRanking: boolean
    estimateContextResourceRequirements(options: {
      contextSize: number
      sequences: number
      modelGpuLayers: number
      includeGraphOverhead: false
    }): { cpuRam: number }
  }
  gpuLayers: number
  isEogToken(token: Token): boolean
  tokenize(text: string, specialTokens: boolean): Token[]
  detokenize(tokens: readonly Token[], specialTokens: boolean, before?: readonly Token[]): string
  createContext(options: ContextOptions): Promise<LlamaContext>
  createEmbeddingContext(options: EmbeddingOptions): Promise<EmbeddingContext>
  createRankingContext(options: EmbeddingOptions): Promise<RankingContext>
}

export interface ContextOptions {
  contextSize: number | { max: number }
  sequences: number
  batchSize?: number
  flashAttention: 'auto' | boolean
  experimentalKvCacheKeyType?: 'Q8_0'
  experimentalKvCacheValueType?: 'Q8_0'
  threads: number
}

export interface EmbeddingOptions {
  contextSize: number
  batchSize?: number
  threads: number
}

export interface LlamaContext {
  contextSize: number
  batchSize: number
}

export interface EmbeddingContext {
  calculateInputLength(input: Token[]): number
  getEmbeddingFor(input: Token[]): Promise<{ vector: readonly number[] }>
}

export interface RankingContext {
  calculateInputLength(query: string, document: string): number
  rank(query: string, document: string): Promise<number>
}

/** The module of an installation. The installer generated it, so its shape is known. */
export async function importLibrary(file: string): Promise<LlamaLibrary> {
  return (await import(pathToFileURL(file).href)) as LlamaLibrary
}
