import type { ContextOptions, LlamaModel } from '../native/library.ts'

/** llama.cpp's fastest loops over 16-bit numbers take this many at a time, and the rest one by one. */
const STEP = 64
/** Numbers that share a scale in Q8_0. */
const BLOCK = 32

type Attention = Pick<ContextOptions, 'flashAttention' | 'experimentalKvCacheKeyType' | 'experimentalKvCacheValueType'>

/**
 * How attention is computed and in what its keys and values are kept. On a GPU the library knows which models are the
 * better for flash attention.
 *
 * Heads whose size is no multiple of 64 fall out of the fast loops on a CPU: with heads of 32, as skipper has, these loops
 * took two thirds of all the time at four answers at once. In 8 bits (Q8_0) there are loops for every size, and half the
 * memory is taken. Measured with skipper, against 16 bits without flash attention: twice as fast or more up to some hundred
 * tokens, no faster for one answer alone at 400. Only flash attention can have values in 8 bits.
 */
export function attentionOf(
  { fileInfo }: Pick<LlamaModel, 'fileInfo'>,
  isOnGpu: boolean,
  wantsFlashAttention: boolean,
): Attention {
  if (isOnGpu) return { flashAttention: wantsFlashAttention || 'auto' }
  const size = headSizeOf(fileInfo.architectureMetadata)
  if (size === undefined || size % STEP === 0 || size % BLOCK !== 0) return { flashAttention: wantsFlashAttention }
  return { flashAttention: true, experimentalKvCacheKeyType: 'Q8_0', experimentalKvCacheValueType: 'Q8_0' }
}

/** Of keys and of values, where both are alike. */
function headSizeOf({
  embedding_length: width,
  attention,
}: LlamaModel['fileInfo']['architectureMetadata']): number | undefined {
  const { key_length: key, value_length: value, head_count: counts } = attention ?? {}
  if (key !== value) return undefined
  if (key !== undefined) return key
  return width === undefined || typeof counts !== 'number' ? undefined : width / counts
}
