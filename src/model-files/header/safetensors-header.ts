import { z } from 'zod'
import type { ModelHeader } from '../../core/types.ts'
import { AppError } from '../../platform/errors.ts'
import { possibleHeader } from './possible-header.ts'

const count = z
  .int()
  .nonnegative()
  .max(2 ** 32)
const maybe = count.nullish()

/** The part of transformers' `config.json` that concerns memory. Families use different names for the same thing. */
const config = z.object({
  model_type: z.string().max(100).default('unknown'),
  hidden_size: maybe,
  n_embd: maybe,
  num_hidden_layers: count.max(10_000).nullish(),
  n_layer: count.max(10_000).nullish(),
  num_attention_heads: maybe,
  n_head: maybe,
  num_key_value_heads: maybe,
  head_dim: maybe,
  vocab_size: maybe,
  max_position_embeddings: maybe,
  n_positions: maybe,
  sliding_window: maybe,
  layer_types: z.array(z.string()).max(10_000).nullish(),
  kv_lora_rank: maybe,
  qk_rope_head_dim: maybe,
  is_decoder: z.boolean().nullish(),
  dtype: z.string().nullish(),
  torch_dtype: z.string().nullish(),
  quantization_config: z.object({ quant_method: z.string() }).partial().nullish(),
})
type Config = z.infer<typeof config>

/** A multimodal model describes its text model inside. */
const nested = z.object({ text_config: z.unknown().optional(), llm_config: z.unknown().optional() })

/** Encoder families: they keep no cache from token to token. */
const ENCODER = /^(bert|roberta|xlm-roberta|distilbert|mpnet|nomic_bert|modernbert|deberta)/

export function safetensorsHeader(json: unknown, weightsBytes: number, label: string): ModelHeader {
  const outer = nested.safeParse(json).data
  const inner = outer?.text_config ?? outer?.llm_config
  const parsed = config.safeParse(inner === undefined ? json : { ...(json as object), ...(inner as object) })
  if (!parsed.success) {
    const where = parsed.error.issues[0]?.path.join('.') || 'it'
    throw new AppError('bad_request', `Cannot use ${label}: ${where} is not what it should be.`)
  }
  const facts = parsed.data
  const layers = facts.num_hidden_layers ?? facts.n_layer ?? 0
  const { key, value } = attention(facts)
  const hasCache = (layer: number): boolean => !/linear|mamba|conv|recurrent/.test(facts.layer_types?.[layer] ?? '')
  const perLayer = (elements: number) => Array.from({ length: layers }, (_, layer) => (hasCache(layer) ? elements : 0))
  const header: ModelHeader = {
    format: 'safetensors',
    architecture: facts.model_type,
    quantisation: facts.quantization_config?.quant_method ?? facts.dtype ?? facts.torch_dtype ?? null,
    weightsBytes,
    // Engines for these files load everything onto the GPU.
    hostBytes: 0,
    projectorBytes: 0,
    layers,
    embedding: facts.hidden_size ?? facts.n_embd ?? 0,
    vocabulary: facts.vocab_size ?? 0,
    context: facts.max_position_embeddings ?? facts.n_positions ?? 0,
    keyElements: perLayer(key),
    valueElements: perLayer(value),
    slidingWindow: slidingWindow(facts, layers),
    stateBytes: 0,
  }
  return possibleHeader(header, label)
}

function attention(facts: Config): { key: number; value: number } {
  if (ENCODER.test(facts.model_type) && !facts.is_decoder) return { key: 0, value: 0 }
  // Multi-head latent attention keeps one small vector for keys and values together.
  if (facts.kv_lora_rank) return { key: facts.kv_lora_rank + (facts.qk_rope_head_dim ?? 0), value: 0 }
  const heads = facts.num_attention_heads ?? facts.n_head ?? 0
  if (heads === 0) return { key: 0, value: 0 }
  const length = facts.head_dim ?? Math.floor((facts.hidden_size ?? facts.n_embd ?? 0) / heads)
  const elements = (facts.num_key_value_heads ?? heads) * length
  return { key: elements, value: elements }
}

/**
 * Only with a list of layer types: a window for all layers is often switched off, and each family says so differently.
 */
function slidingWindow({ sliding_window: tokens, layer_types: types }: Config, layers: number) {
  if (!tokens || !types?.includes('sliding_attention')) return null
  return { tokens, layers: Array.from({ length: layers }, (_, layer) => types[layer] === 'sliding_attention') }
}
