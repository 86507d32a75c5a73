import type { ModelHeader } from '../../core/types.ts'
import type { Metadata } from './gguf-metadata.ts'

interface Pattern {
  /** One layer in this many attends to the whole context; 4 means three with a window, then one without. */
  period: number
  isFullFirst?: boolean
  /** If the file does not say. */
  tokens?: number
  /** Only models of the family with these numbers of layers. */
  layers?: number
}

/**
 * Families for which the engine limits the cache of some layers. Others name a window as well (llama, qwen2, phi3) but
 * still get a cache for the whole context: for those the window is ignored.
 */
const patterns: Readonly<Record<string, Pattern>> = {
  gemma2: { period: 2, tokens: 4096 },
  gemma3: { period: 6 },
  gemma3n: { period: 5 },
  cohere2: { period: 4 },
  cohere2moe: { period: 4, isFullFirst: true },
  'gpt-oss': { period: 2 },
  llama4: { period: 4, tokens: 8192 },
  olmo2: { period: 4 },
  exaone4: { period: 4, tokens: 4096, layers: 64 },
  'exaone-moe': { period: 4, tokens: 128 },
  smallthinker: { period: 4, isFullFirst: true },
  plamo3: { period: 8 },
  afmoe: { period: 4 },
  mellum: { period: 4 },
  laguna: { period: 4, isFullFirst: true },
}

/** Which layers have a window, by the file's own list or by what is known of the family. */
export function slidingWindowOf(metadata: Metadata, layers: number): ModelHeader['slidingWindow'] {
  // Own properties only: a file may call its architecture `constructor`.
  const known = Object.hasOwn(patterns, metadata.architecture) ? patterns[metadata.architecture] : undefined
  const pattern = known?.layers === undefined || known.layers === layers ? known : undefined
  const tokens = metadata.own('attention.sliding_window') ?? pattern?.tokens ?? 0
  const listed = metadata.list('attention.sliding_window_pattern')
  if (tokens === 0 || (!listed && !pattern)) return null
  const isWindowed = (layer: number): boolean => {
    if (listed) return Boolean(listed[layer])
    const period = metadata.own('attention.sliding_window_pattern') ?? pattern!.period
    if (period === 0) return true
    return pattern!.isFullFirst ? layer % period !== 0 : layer % period < period - 1
  }
  return { tokens, layers: Array.from({ length: layers }, (_, layer) => isWindowed(layer)) }
}
