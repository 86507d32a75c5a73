import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aHeader } from '../../../test/support/builders.ts'
import type { ModelHeader, ModelOptions } from '../types.ts'
import { estimateMemory } from './estimate.ts'
import { memorySettings } from './settings.ts'

const MIB = 2 ** 20
const GIB = 2 ** 30

/** Llama-3.1-8B at Q4_K_M. */
const llama = aHeader({
  weightsBytes: 4_920_000_000,
  hostBytes: 295_000_000,
  layers: 32,
  embedding: 4096,
  vocabulary: 128_256,
  context: 131_072,
  keyElements: Array.from({ length: 32 }, () => 1024),
  valueElements: Array.from({ length: 32 }, () => 1024),
})

const estimate = (options: ModelOptions = {}, devices = 1, header: ModelHeader = llama) =>
  estimateMemory(header, memorySettings(options), devices)
const cache = (options: ModelOptions, header?: ModelHeader) => estimate(options, 1, header).parts.kv_cache

describe('the cache', () => {
  test('of Llama-3.1-8B takes 128 KiB for each token, of each of the requests at the same time', () => {
    expect(cache({ context: 8192, parallel: 1 })).toBe(GIB)
    expect(cache({ context: 8192, parallel: 4 })).toBe(4 * GIB)
    // Without an option there are four requests, as the engine is told.
    expect(cache({ context: 8192 })).toBe(4 * GIB)
  })

  test.each([
    ['f32', 4],
    ['f16', 2],
    ['bf16', 2],
    ['q8_0', 34 / 32],
    ['q5_1', 24 / 32],
    ['q5_0', 22 / 32],
    ['q4_1', 20 / 32],
    ['q4_0', 18 / 32],
    ['whatever', 2],
  ])('of type %s takes %f bytes for each element', (type, bytes) => {
    const options = { context: 8192, parallel: 1, cache_type_k: type, 'cache-type-v': type }
    expect(cache(options)).toBe((GIB * bytes) / 2)
    expect(cache({ context: 8192, parallel: 1, ctk: type })).toBe((GIB * bytes) / 4 + GIB / 2)
  })

  test('without a context is that of the model, up to 8 Ki tokens for each request or 32 Ki for all together', () => {
    expect(cache({})).toBe(4 * GIB)
    expect(cache({ parallel: 1 })).toBe(4 * GIB)
    expect(cache({ parallel: 8 })).toBe(8 * GIB)
    expect(cache({}, { ...llama, context: 2048 })).toBe(GIB)
    expect(cache({ ctx_size: 65_536 })).toBe(8 * GIB)
  })

  test('of layers with a window is never longer than that and what is worked on', () => {
    const layers = Array.from({ length: 32 }, (_, layer) => layer % 2 === 0)
    const windowed = { ...llama, slidingWindow: { tokens: 1024, layers } }
    const perToken = 128 * 1024
    expect(cache({ context: 8192, parallel: 1 }, windowed)).toBe((perToken / 2) * (8192 + 1536))
    expect(cache({ context: 512, parallel: 1 }, windowed)).toBe(perToken * 512)
    expect(cache({ context: 8192, parallel: 2 }, windowed)).toBe((perToken / 2) * 2 * (8192 + 1536))
    // One cache for all: a window for each request, and the batch once.
    expect(cache({ context: 8192, parallel: 2, kv_unified: true }, windowed)).toBe((perToken / 2) * (16_384 + 2560))
    expect(cache({ context: 8192, parallel: 1, swa_full: true }, windowed)).toBe(GIB)
  })

  test('of recurrent layers does not grow with the context, but with the requests', () => {
    const none = Array.from({ length: 32 }, () => 0)
    const mamba = { ...llama, keyElements: none, valueElements: none, stateBytes: 32_000 }
    expect(cache({ context: 100_000, parallel: 1 }, mamba)).toBe(32_000)
    expect(cache({ context: 8, parallel: 3 }, mamba)).toBe(96_000)
  })
})

describe('offloading', () => {
  test('puts all on the GPU but the embeddings of the input, and what the process takes', () => {
    const { vram, ram, parts } = estimate({ context: 8192, parallel: 1 })
    const mask = 512 * 8192 * 6
    // The result of a batch: what llama.cpp calls a compute buffer of 258.50 MiB.
    expect(vram).toBe(4_625_000_000 + GIB + 258.5 * MIB + mask + 768 * MIB)
    expect(ram).toBe(295_000_000 + 512 * (4096 + 8192) * 4 + 512 * MIB)
    expect(parts.weights).toBe(4_920_000_000)
  })

  test('of no layers, or without a device, takes the machine alone', () => {
    for (const need of [estimate({ n_gpu_layers: 0 }), estimate({ ngl: 0 }), estimate({}, 0)]) {
      expect(need.vram).toBe(0)
      expect(need.ram).toBe(4_920_000_000 + 4 * GIB + need.parts.compute + 128 * MIB)
    }
  })

  test('of some layers takes the last ones, and the output as one more', () => {
    const whole = estimate({ context: 8192, parallel: 1 })
    const half = estimate({ context: 8192, parallel: 1, gpu_layers: 17 })
    expect(whole.vram - half.vram).toBe(Math.floor((4_625_000_000 * 16) / 33) + GIB / 2)
    expect(estimate({ context: 8192, parallel: 1, n_gpu_layers: 99 })).toEqual(whole)
    expect(estimate({ context: 8192, parallel: 1, n_gpu_layers: -1 })).toEqual(whole)
    expect(estimate({ context: 8192, parallel: 1, n_gpu_layers: 'all' })).toEqual(whole)
  })

  test('leaves the cache and the projector with the machine when that is asked for', () => {
    const header = { ...llama, projectorBytes: 800_000_000 }
    const all = estimate({ context: 8192, parallel: 1 }, 1, header)
    expect(all.vram - estimate({ context: 8192, parallel: 1, no_kv_offload: true }, 1, header).vram).toBe(GIB)
    const kept = estimate({ context: 8192, parallel: 1, no_mmproj_offload: true }, 1, header)
    expect(all.vram - kept.vram).toBe(800_000_000)
  })

  test('over several devices takes what a process needs on each of them', () => {
    expect(estimate({}, 4).vram - estimate({}, 1).vram).toBe(3 * 768 * MIB)
  })
})

test('a smaller batch and no flash attention change what computing takes', () => {
  const usual = estimate({ context: 8192, parallel: 1 })
  expect(estimate({ context: 8192, parallel: 1, ubatch_size: 128 }).parts.compute).toBe(usual.parts.compute / 4)
  const without = estimate({ context: 8192, parallel: 1, flash_attn: 'off' })
  expect(without.parts.compute).toBeGreaterThan(usual.parts.compute + 512 * 8192 * 4 * 31)
})

const options = fc.record(
  {
    context: fc.nat(200_000),
    parallel: fc.integer({ min: 1, max: 64 }),
    n_gpu_layers: fc.integer({ min: -1, max: 40 }),
    ubatch_size: fc.integer({ min: 1, max: 4096 }),
    cache_type_k: fc.constantFrom('f16', 'q8_0', 'q4_0', 'auto'),
    kv_unified: fc.boolean(),
  },
  { requiredKeys: [] },
)

test('the parts always add up, nothing is negative, and more context never needs less', () => {
  fc.assert(
    fc.property(options, fc.integer({ min: 0, max: 8 }), fc.nat(10_000), (given, devices, more) => {
      const { vram, ram, parts } = estimate(given, devices)
      expect(vram + ram).toBe(Object.values(parts).reduce((sum, bytes) => sum + bytes, 0))
      expect(Math.min(vram, ram, ...Object.values(parts))).toBeGreaterThanOrEqual(0)
      expect([vram, ram].every(Number.isSafeInteger)).toBe(true)
      const context = (given.context ?? 0) + 1
      const less = estimate({ ...given, context }, devices)
      const longer = estimate({ ...given, context: context + more }, devices)
      expect(longer.vram).toBeGreaterThanOrEqual(less.vram)
      expect(longer.ram).toBeGreaterThanOrEqual(less.ram)
    }),
  )
})

test('options that make no sense are as if they were not set', () => {
  expect(estimate({ context: 'long', parallel: -3, n_gpu_layers: 'auto', ubatch_size: 0 })).toEqual(estimate({}))
})
