import type { MemoryNeed } from './types.ts'
import type { ModelHeader } from '../types.ts'
import { cacheSize, layerBytes } from './kv-cache.ts'
import type { MemorySettings } from './settings.ts'

export interface MemoryEstimate {
  vram: number
  ram: number
  parts: NonNullable<MemoryNeed['parts']>
}

const MIB = 2 ** 20

/**
 * What a process takes on each GPU that it opens, before it holds anything: CUDA's context and its libraries' workspace,
 * which comes with the first long prompt. 740 MiB with llama.cpp on an H200; smaller cards take less.
 */
const DEVICE_OVERHEAD = 768 * MIB
/** What the process takes of the machine's memory: program and tokenizer; with a GPU also the driver's part of it. */
const CPU_OVERHEAD = 128 * MIB
const GPU_HOST_OVERHEAD = 512 * MIB
const F32 = 4
/** Of the widest step inside a layer, in embeddings: the feed-forward part is about 3.5 of them wide, thrice, and its input. */
const WIDEST_STEP = 12
/** Attention heads are not in the header as we keep it; nearly all models have one for each 128 of the embedding. */
const HEAD_WIDTH = 128

/**
 * What one replica takes, from its file's header. docs/reference/memory.md has the formula for people.
 *
 *   weights   the tensors. Embeddings of the input stay in RAM; the rest is offloaded by layers, the last ones first, and
 *             the output counts as one more
 *   kv_cache  layers x tokens x (key + value) x bytes of an element; state of recurrent layers x sequences
 *   compute   batch x (vocabulary + embedding) floats for the result, or the widest step of a layer; and the mask
 *   projector beside the model, whole
 *   overhead  a fixed sum for each device and for the process
 */
export function estimateMemory(header: ModelHeader, settings: MemorySettings, devices: number): MemoryEstimate {
  const { layers, weightsBytes, hostBytes, projectorBytes } = header
  const isOnGpu = devices > 0 && settings.gpuLayers !== 0
  const steps = isOnGpu ? Math.min(settings.gpuLayers ?? layers + 1, layers + 1) : 0
  const size = cacheSize(header, settings)
  const cache = layerBytes(header, settings, size)

  const weights = isOnGpu ? Math.ceil(((weightsBytes - hostBytes) * steps) / (layers + 1)) : 0
  const firstOnGpu = isOnGpu && settings.isCacheOnGpu ? Math.max(0, layers + 1 - steps) : layers
  const cacheOnGpu = sum(cache.slice(firstOnGpu))
  const compute = computeBytes(header, settings, size.tokens)
  const overhead = isOnGpu
    ? { vram: devices * DEVICE_OVERHEAD, ram: GPU_HOST_OVERHEAD }
    : { vram: 0, ram: CPU_OVERHEAD }
  // The engine builds the input of each step in RAM, even when a GPU computes.
  const input = isOnGpu ? settings.batch * (header.embedding + size.tokens) * F32 : 0
  const projectorOnGpu = isOnGpu && settings.isProjectorOnGpu ? projectorBytes : 0

  const vram = weights + cacheOnGpu + (isOnGpu ? compute : 0) + projectorOnGpu + overhead.vram
  const parts = {
    weights: weightsBytes,
    kv_cache: sum(cache),
    compute: compute + input,
    projector: projectorBytes,
    overhead: overhead.vram + overhead.ram,
  }
  return { vram, ram: sum(Object.values(parts)) - vram, parts }
}

function computeBytes({ vocabulary, embedding }: ModelHeader, settings: MemorySettings, tokens: number): number {
  const { batch, hasFlashAttention } = settings
  const widest = Math.max(vocabulary + embedding, WIDEST_STEP * embedding) * F32
  // As floats, and once more as halves for flash attention; without that, the scores of all heads.
  const attention = tokens * (hasFlashAttention ? F32 + F32 / 2 : F32 * Math.ceil(1 + embedding / HEAD_WIDTH))
  return batch * (widest + attention)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
