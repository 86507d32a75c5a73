import type { Metadata } from './gguf-metadata.ts'

export interface RecurrentState {
  /** For all layers and one sequence. */
  bytes: number
  /** This layer keeps a state instead of keys and values, or shares those of another layer. */
  hasNoCache(layer: number): boolean
}

const F32 = 4
/** Purely recurrent: no layer attends to earlier tokens. */
const recurrentFamilies = new Set(['mamba', 'mamba2', 'rwkv6', 'rwkv6qwen2', 'rwkv7', 'arwkv7'])
/** Every layer has both a state and a cache of keys and values. */
const doubleFamilies = new Set(['falcon-h1'])
/**
 * In these families, whose files do not say from which layer on, later layers reuse keys and values of earlier ones.
 */
const cachedLayers: Readonly<Record<string, number>> = { gemma3n: 20 }

/** Layers whose memory of a sequence has a fixed size (Mamba, RWKV, and hybrids of them with attention). */
export function stateOf(metadata: Metadata, layers: number): RecurrentState {
  const { architecture } = metadata
  const known = Object.hasOwn(cachedLayers, architecture) ? cachedLayers[architecture] : undefined
  const cached = known ?? layers - (metadata.own('attention.shared_kv_layers') ?? 0)
  const interval = metadata.own('full_attention_interval') ?? 0
  const listed = metadata.list('attention.recurrent_layers')
  const elements = elementsOf(metadata)
  const isRecurrent = (layer: number): boolean => {
    if (recurrentFamilies.has(architecture) || doubleFamilies.has(architecture)) return true
    if (elements === 0) return false
    if (listed) return Boolean(listed[layer])
    if (interval > 0) return (layer + 1) % interval !== 0
    return metadata.own('attention.head_count_kv', layer) === 0
  }
  const count = Array.from({ length: layers }, (_, layer) => isRecurrent(layer)).filter(Boolean).length
  return {
    bytes: count * elements * F32,
    hasNoCache: (layer) => layer >= cached || (isRecurrent(layer) && !doubleFamilies.has(architecture)),
  }
}

/** Of one layer: the last inputs of its convolution, and the state itself. */
function elementsOf(metadata: Metadata): number {
  const number = (name: string): number => metadata.own(name) ?? 0
  const embedding = number('embedding_length')
  const head = number('wkv.head_size')
  if (head > 0) return embedding * (metadata.own('token_shift_count') ?? 2) + embedding * head
  const shortConvolution = number('shortconv.l_cache')
  if (shortConvolution > 0) return embedding * (shortConvolution - 1)
  const linear = number('kda.head_dim')
  const convolution = Math.max(0, number('ssm.conv_kernel') - 1)
  if (linear > 0) {
    const heads = number('attention.head_count')
    return 3 * convolution * heads * linear + linear * linear * heads
  }
  const inner = number('ssm.inner_size')
  const state = number('ssm.state_size')
  return convolution * (inner + 2 * number('ssm.group_count') * state) + state * inner
}
