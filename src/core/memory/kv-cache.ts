import type { ModelHeader } from '../types.ts'
import { defaultContext } from './default-context.ts'
import type { MemorySettings } from './settings.ts'

/**
 * Of what the model was trained for, without an option `context`. Models are trained for 128 Ki tokens and more, which few
 * requests need and few cards hold; llama-server then takes as much as fits. The option `context` asks for more.
 */
export const MOST_DEFAULT_CONTEXT = 32_768

/** The engine rounds the length of a cache up to this. */
const PADDING = 256

/** How many tokens are kept: for one cache, of which there is one for all requests or one for each. */
export interface CacheSize {
  caches: number
  tokens: number
  /** In layers that look back only so far. */
  windowTokens: number
}

/**
 * A layer with a window needs the window itself and the tokens that are worked on, of every sequence that shares the cache,
 * and never more than the whole context.
 */
export function cacheSize(header: ModelHeader, settings: MemorySettings): CacheSize {
  const { parallel, isUnified, batch, isWindowFull } = settings
  const caches = isUnified ? 1 : parallel
  const tokens = padded(totalTokens(header, settings) / caches)
  const window = header.slidingWindow?.tokens ?? tokens
  const windowTokens = padded(Math.min(tokens, window * (isUnified ? parallel : 1) + batch))
  return { caches, tokens, windowTokens: isWindowFull ? tokens : windowTokens }
}

/** Bytes of the cache in one layer: keys and values of every token, and the state of a recurrent layer. */
export function layerBytes(header: ModelHeader, settings: MemorySettings, size: CacheSize): number[] {
  const { keyElements, valueElements, slidingWindow, layers, stateBytes } = header
  const recurrent = keyElements.filter((elements) => elements === 0).length || layers
  return Array.from({ length: layers }, (_, layer) => {
    const key = keyElements[layer] ?? 0
    const value = valueElements[layer] ?? 0
    const tokens = slidingWindow?.layers[layer] ? size.windowTokens : size.tokens
    const growing = size.caches * tokens * (key * settings.keyBytes + value * settings.valueBytes)
    // Only the sum is known. Layers without a cache that grows share it; where all have one (falcon-h1), all do.
    const hasState = key === 0 || recurrent === layers
    return Math.ceil(growing + (hasState ? (stateBytes * settings.parallel) / recurrent : 0))
  })
}

function totalTokens(header: ModelHeader, { context, contextTotal, parallel }: MemorySettings): number {
  if (contextTotal !== null) return contextTotal
  if (context !== null) return context * parallel
  // llama-server shares what it has among all requests; llama gives each its own.
  const ofEach = (defaultContext(header.context) ?? 0) * parallel
  return Math.max(Math.min(header.context, MOST_DEFAULT_CONTEXT), ofEach)
}

function padded(tokens: number): number {
  return Math.ceil(tokens / PADDING) * PADDING
}
