import { ApiError, badRequest } from '../../lib/api-error.ts'
import type { Batcher } from '../batcher.ts'
import type { EmbeddingContext, EmbeddingOptions, LlamaModel, Token } from '../native/library.ts'
import { tooLong } from '../too-long.ts'

/** How well documents answer a query. */
export interface Ranker {
  /** Tokens of a query with a document, as they are read together. */
  lengthOf(query: string, document: string): number
  /** From 0 to 1. */
  score(query: string, document: string): Promise<number>
}

/** llama.cpp's numbers for the ways to combine token vectors into that of a text. */
const NO_POOLING = 0
const MEAN_POOLING = 1
const FIRST_POOLING = 2
const RANK_POOLING = 4

/** Whether a model generates text. Embedding models do not, and the library recognizes few of them. */
export function writesText({ fileInsights, fileInfo }: Pick<LlamaModel, 'fileInsights' | 'fileInfo'>): boolean {
  const { hasEncoder, hasDecoder, supportsRanking } = fileInsights
  const { attention, pooling_type: pooling = NO_POOLING } = fileInfo.architectureMetadata
  if (attention?.causal === false || pooling !== NO_POOLING) return false
  return hasDecoder && !hasEncoder && !supportsRanking
}

/** Creates its context on first use: a model that only chats does not need the memory. */
export function embedder(
  model: LlamaModel,
  contextTokens: number,
  threads: number,
  batcher: Batcher | undefined,
): (tokens: readonly Token[]) => Promise<readonly number[]> {
  if (model.fileInfo.architectureMetadata.pooling_type === RANK_POOLING) {
    return () => {
      throw badRequest(
        'This model ranks documents, it makes no embeddings. Use /v1/rerank.',
        'model',
        'unsupported_model',
      )
    }
  }
  const options = optionsFor(model, contextTokens, threads)
  let opening: Promise<EmbeddingContext> | undefined
  return async (tokens) => {
    opening ??= model.createEmbeddingContext(options).catch((error: unknown) => {
      opening = undefined
      const why = error instanceof Error ? error.message : String(error)
      throw new ApiError(503, `There is no room for embeddings: ${why}`, { code: 'no_room' })
    })
    const context = await opening
    // With the tokens that some models have around each text; the library adds them to the list that it is given.
    const length = context.calculateInputLength([...tokens])
    if (length >= contextTokens) throw tooLong(contextTokens, length, 'input')
    const embed = (): Promise<{ vector: readonly number[] }> => context.getEmbeddingFor([...tokens])
    return (await (batcher ? batcher.alone(embed) : embed())).vector
  }
}

export async function openRanker(model: LlamaModel, contextTokens: number, threads: number): Promise<Ranker> {
  const context = await model.createRankingContext(optionsFor(model, contextTokens, threads))
  return {
    lengthOf: (query, document) => context.calculateInputLength(query, document),
    score: (query, document) => context.rank(query, document),
  }
}

/**
 * Where tokens attend to later ones, or all are pooled, a text must be computed at once: parts would be texts of their
 * own. Elsewhere parts suffice, and take far less memory.
 */
function optionsFor({ fileInsights, fileInfo }: LlamaModel, contextTokens: number, threads: number): EmbeddingOptions {
  const { attention, pooling_type: pooling = NO_POOLING } = fileInfo.architectureMetadata
  const looksAhead = fileInsights.hasEncoder || attention?.causal === false
  const isWhole = looksAhead || pooling === MEAN_POOLING || pooling === FIRST_POOLING
  return { contextSize: contextTokens, threads, ...(isWhole && { batchSize: contextTokens }) }
}
