import type { GgufValue } from './write-gguf.ts'

interface Published {
  name: string
  metadata: Record<string, GgufValue>
  /** What is kept at `tokens` of context for one sequence, in MiB at f16, and of recurrent state. */
  tokens: number
  cacheMib: number
  stateMib?: number
}

/** Numbers as published by the models' makers; the caches are worked out by hand from how llama.cpp's source allocates them. */
export const publishedModels: readonly Published[] = [
  {
    name: 'Llama-3.1-8B',
    metadata: of('llama', {
      block_count: 32,
      context_length: 131_072,
      embedding_length: 4096,
      'attention.head_count': 32,
      'attention.head_count_kv': 8,
      vocab_size: 128_256,
    }),
    tokens: 8192,
    cacheMib: 1024,
  },
  {
    name: 'Qwen2.5-7B',
    metadata: of('qwen2', {
      block_count: 28,
      context_length: 32_768,
      embedding_length: 3584,
      'attention.head_count': 28,
      'attention.head_count_kv': 4,
      // Named, and not used by the engine.
      'attention.sliding_window': 4096,
    }),
    tokens: 32_768,
    cacheMib: 1792,
  },
  {
    name: 'Mixtral-8x7B',
    metadata: of('llama', {
      block_count: 32,
      context_length: 32_768,
      embedding_length: 4096,
      'attention.head_count': 32,
      'attention.head_count_kv': 8,
      expert_count: 8,
      expert_used_count: 2,
    }),
    tokens: 4096,
    cacheMib: 512,
  },
  {
    // Every other layer has a window: 21 x 8192 tokens and 21 x (4096 + 512).
    name: 'Gemma-2-9B',
    metadata: of('gemma2', {
      block_count: 42,
      context_length: 8192,
      embedding_length: 3584,
      'attention.head_count': 16,
      'attention.head_count_kv': 8,
      'attention.key_length': 256,
      'attention.value_length': 256,
      'attention.sliding_window': 4096,
    }),
    tokens: 8192,
    cacheMib: 1344 + 756,
  },
  {
    // One layer in six looks back to the beginning: 8 of 48 x 32768 tokens, 40 x (1024 + 512).
    name: 'Gemma-3-12B',
    metadata: of('gemma3', {
      block_count: 48,
      context_length: 131_072,
      embedding_length: 3840,
      'attention.head_count': 16,
      'attention.head_count_kv': 8,
      'attention.key_length': 256,
      'attention.value_length': 256,
      'attention.sliding_window': 1024,
    }),
    tokens: 32_768,
    cacheMib: 2048 + 480,
  },
  {
    // 12 x 8192 tokens, 12 x pad(128 + 512).
    name: 'gpt-oss-20b',
    metadata: of('gpt-oss', {
      block_count: 24,
      context_length: 131_072,
      embedding_length: 2880,
      'attention.head_count': 64,
      'attention.head_count_kv': 8,
      'attention.key_length': 64,
      'attention.value_length': 64,
      'attention.sliding_window': 128,
    }),
    tokens: 8192,
    cacheMib: 192 + 18,
  },
  {
    // Latent attention: 576 elements for a token and layer, values made from the keys.
    name: 'DeepSeek-V2-Lite',
    metadata: of('deepseek2', {
      block_count: 27,
      context_length: 163_840,
      embedding_length: 2048,
      'attention.head_count': 16,
      'attention.head_count_kv': 1,
      'attention.key_length': 576,
      'attention.value_length': 512,
      'attention.key_length_mla': 192,
      'attention.value_length_mla': 128,
    }),
    tokens: 4096,
    cacheMib: 121.5,
  },
  {
    // Nothing grows: 64 layers x (3 x 5120 + 16 x 5120) floats.
    name: 'mamba-2.8b',
    metadata: of('mamba', {
      block_count: 64,
      context_length: 1_048_576,
      embedding_length: 2560,
      'attention.head_count': 0,
      'ssm.conv_kernel': 4,
      'ssm.inner_size': 5120,
      'ssm.state_size': 16,
    }),
    tokens: 32_768,
    cacheMib: 0,
    stateMib: 23.75,
  },
  {
    // Three of four layers are recurrent: 36 x (3 x (4096 + 2 x 16 x 128) + 128 x 4096) floats; 12 keep 2 heads of 256.
    name: 'Qwen3-Next-80B-A3B',
    metadata: of('qwen3next', {
      block_count: 48,
      context_length: 262_144,
      embedding_length: 2048,
      'attention.head_count': 16,
      'attention.head_count_kv': 2,
      'attention.key_length': 256,
      'attention.value_length': 256,
      full_attention_interval: 4,
      'ssm.conv_kernel': 4,
      'ssm.inner_size': 4096,
      'ssm.state_size': 128,
      'ssm.group_count': 16,
    }),
    tokens: 4096,
    cacheMib: 96,
    stateMib: 75.375,
  },
]

function of(architecture: string, own: Record<string, GgufValue>): Record<string, GgufValue> {
  const named = Object.entries(own).map(([key, value]) => [`${architecture}.${key}`, value])
  return { 'general.architecture': architecture, 'general.file_type': 15, ...Object.fromEntries(named) }
}
