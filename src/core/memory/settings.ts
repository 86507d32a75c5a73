import type { ModelOptions } from '../types.ts'

/** What the options of a model say about memory, defaults filled in. */
export interface MemorySettings {
  /** Tokens of one request; null when the model's own length holds. */
  context: number | null
  /** Tokens of all requests together, for models that set the engine's own flag. */
  contextTotal: number | null
  parallel: number
  /** One cache for all requests, where any may take what the others leave. */
  isUnified: boolean
  /** Tokens that are worked on at a time. */
  batch: number
  keyBytes: number
  valueBytes: number
  /** Layers on the GPU, the output counted as one; null is all. */
  gpuLayers: number | null
  hasFlashAttention: boolean
  /** Keeps the whole context even for layers that look back only so far. */
  isWindowFull: boolean
  isCacheOnGpu: boolean
  isProjectorOnGpu: boolean
}

/** llama-server's default number of slots; they share one cache. */
const DEFAULT_PARALLEL = 4
const DEFAULT_BATCH = 512
const MOST_PARALLEL = 10_000

/** Bytes of one element: block formats have a scale, some also an offset, for each 32 elements. */
const elementBytes: Readonly<Record<string, number>> = {
  f32: 4,
  f16: 2,
  bf16: 2,
  fp8: 1,
  fp8_e4m3: 1,
  fp8_e5m2: 1,
  q8_0: 34 / 32,
  q5_1: 24 / 32,
  q5_0: 22 / 32,
  q4_1: 20 / 32,
  q4_0: 18 / 32,
  iq4_nl: 18 / 32,
}

/** Options are named as the engine's flags are, long or short, with `-` or `_`. */
export function memorySettings(options: ModelOptions): MemorySettings {
  const find = finder(options)
  const given = wholeNumber(find('parallel', 'np', 'max_num_seqs'), 1)
  const parallel = Math.min(given ?? DEFAULT_PARALLEL, MOST_PARALLEL)
  const batch = wholeNumber(find('ubatch_size', 'ubatch', 'ub'), 1) ?? DEFAULT_BATCH
  const cache = find('kv_cache_dtype')
  return {
    context: wholeNumber(find('context', 'max_model_len', 'context_length'), 1),
    contextTotal: wholeNumber(find('ctx_size', 'c'), 1),
    parallel,
    isUnified: isOn(find('kv_unified', 'kvu')) || given === null,
    batch: Math.min(batch, wholeNumber(find('batch_size', 'batch', 'b'), 1) ?? batch),
    keyBytes: bytesOf(find('cache_type_k', 'type_k', 'ctk') ?? cache),
    valueBytes: bytesOf(find('cache_type_v', 'type_v', 'ctv') ?? cache),
    gpuLayers: isOff(find('gpu')) ? 0 : wholeNumber(find('n_gpu_layers', 'gpu_layers', 'ngl'), 0),
    hasFlashAttention: !isOff(find('flash_attn', 'fa')),
    isWindowFull: isOn(find('swa_full')),
    isCacheOnGpu: !isOn(find('no_kv_offload', 'nkvo')),
    isProjectorOnGpu: !isOn(find('no_mmproj_offload')),
  }
}

type Value = ModelOptions[string] | undefined

function finder(options: ModelOptions): (...names: string[]) => Value {
  const known = new Map(Object.entries(options).map(([name, value]) => [name.replaceAll('-', '_'), value]))
  return (...names) => names.map((name) => known.get(name)).find((value) => value !== undefined)
}

/** Null for what is not one: -1, `auto` and the like mean the engine's own choice. */
function wholeNumber(value: Value, least: number): number | null {
  if (typeof value === 'boolean' || value === undefined || value === '') return null
  const number = Number(value)
  return Number.isSafeInteger(number) && number >= least ? number : null
}

function bytesOf(type: Value): number {
  return elementBytes[String(type).toLowerCase()] ?? elementBytes['f16']!
}

function isOn(value: Value): boolean {
  return value !== undefined && !isOff(value)
}

function isOff(value: Value): boolean {
  return value !== undefined && ['off', 'false', '0', 'disabled'].includes(String(value).toLowerCase())
}
