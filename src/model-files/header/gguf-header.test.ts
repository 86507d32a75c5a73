import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gguf } from '@huggingface/gguf'
import { expect, test } from 'vitest'
import { cacheSize, layerBytes } from '../../core/memory/kv-cache.ts'
import { memorySettings } from '../../core/memory/settings.ts'
import type { ModelHeader } from '../../core/types.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { localModel } from './local-model.ts'
import { readHeader } from './read-header.ts'
import { publishedModels } from './testing/published-models.ts'
import { writeGguf, type GgufToWrite, type GgufValue } from './testing/write-gguf.ts'

const signal = new AbortController().signal
const MIB = 2 ** 20

const realFiles = JSON.parse(readFileSync(new URL('./testing/real-metadata.json', import.meta.url), 'utf8')) as {
  file: string
  metadata: Record<string, GgufValue>
}[]

async function headerOf(content: GgufToWrite, name = 'model.gguf'): Promise<ModelHeader> {
  const path = join(tempFolder(), name)
  writeGguf(path, content)
  return (await readHeader(await localModel(path), signal))!
}

function cacheBytes(header: ModelHeader, options: Record<string, number>): number {
  const settings = memorySettings({ parallel: 1, ...options })
  return layerBytes(header, settings, cacheSize(header, settings)).reduce((sum, bytes) => sum + bytes, 0)
}

/** Layers, embedding, vocabulary, context, and bytes that one token takes in the cache at f16. */
const expected: Record<string, [number, number, number, number, number]> = {
  'ggml-vocab-llama-bpe.gguf': [32, 4096, 128_256, 8192, 131_072],
  'ggml-vocab-llama-spm.gguf': [32, 4096, 32_000, 4096, 524_288],
  'ggml-vocab-falcon.gguf': [32, 4544, 65_024, 2048, 8192],
  'ggml-vocab-gpt-2.gguf': [12, 768, 50_257, 1024, 36_864],
  'ggml-vocab-phi-3.gguf': [32, 3072, 32_064, 4096, 393_216],
  'ggml-vocab-qwen2.gguf': [32, 4096, 151_936, 32_768, 524_288],
  'ggml-vocab-starcoder.gguf': [30, 3072, 49_152, 16_384, 30_720],
  'ggml-vocab-command-r.gguf': [40, 8192, 256_000, 131_072, 1_310_720],
  'ggml-vocab-mpt.gguf': [32, 4096, 50_432, 2048, 524_288],
  'ggml-vocab-bert-bge.gguf': [12, 384, 30_522, 512, 0],
  'ggml-vocab-nomic-bert-moe.gguf': [12, 768, 250_048, 512, 0],
  // 25 layers with 8 heads of 256, 5 with 2 heads of 512.
  'ggml-vocab-gemma-4.gguf': [30, 2816, 262_144, 262_144, 225_280],
  'ggml-vocab-gpt-neox.gguf': [44, 6144, 50_432, 2048, 1_081_344],
  'ggml-vocab-refact.gguf': [32, 2048, 49_216, 4096, 8192],
}

test.each(realFiles)('the header of $file is read as its converter wrote it', async ({ file, metadata }) => {
  const header = await headerOf({ metadata })
  const elements = [...header.keyElements, ...header.valueElements].reduce((sum, count) => sum + count, 0)
  expect([header.layers, header.embedding, header.vocabulary, header.context, elements * 2]).toEqual(expected[file])
  expect(header.architecture).toBe(metadata['general.architecture'])
})

test.each(publishedModels)('the cache of $name is what the rules of llama.cpp make of it', async (model) => {
  const { metadata, tokens, cacheMib, stateMib = 0 } = model
  const header = await headerOf({ metadata })
  expect(cacheBytes(header, { context: tokens }) / MIB).toBe(cacheMib + stateMib)
  expect(header.stateBytes / MIB).toBe(stateMib)
  expect(header.quantisation).toBe('Q4_K_M')
})

test('an independent reader of the format agrees on every key and tensor', async () => {
  const path = join(tempFolder(), 'model.gguf')
  const tensors = Array.from({ length: 20 }, (_, i) => ({ name: `blk.${i}.attn_q.weight`, bytes: 1000 * (i + 1) }))
  for (const { metadata } of realFiles.slice(0, 3)) {
    writeGguf(path, { metadata, tensors })
    const other = await gguf(path, { allowLocalFile: true })
    const values = other.metadata as Record<string, unknown>
    const header = (await readHeader(await localModel(path), signal))!
    expect(other.tensorInfos.map(({ name }) => name)).toEqual(tensors.map(({ name }) => name))
    expect(header).toMatchObject({
      layers: values[`${header.architecture}.block_count`],
      embedding: values[`${header.architecture}.embedding_length`],
      vocabulary: (values['tokenizer.ggml.tokens'] as unknown[]).length,
    })
  }
})

test('weights are what the tensors take; embeddings of the input stay with the machine', async () => {
  const metadata = publishedModels[0]!.metadata
  const tensors = [
    { name: 'token_embd.weight', bytes: 320 },
    { name: 'blk.0.attn_q.weight', bytes: 6400 },
    { name: 'output.weight', bytes: 640 },
  ]
  expect(await headerOf({ metadata, tensors })).toMatchObject({ weightsBytes: 7360, hostBytes: 320 })
})

test('a model without an output of its own has its embeddings twice, once on each side', async () => {
  const tensors = [
    { name: 'token_embd.weight', bytes: 320 },
    { name: 'blk.0.attn_q.weight', bytes: 6400 },
  ]
  const header = await headerOf({ metadata: publishedModels[0]!.metadata, tensors })
  expect(header).toMatchObject({ weightsBytes: 7040, hostBytes: 320 })
})

test('weights of tens of gigabytes are summed up without being read', async () => {
  const tensors = Array.from({ length: 64 }, (_, i) => ({ name: `blk.${i}.ffn_up.weight`, bytes: 2 ** 30 }))
  const header = await headerOf({ metadata: publishedModels[0]!.metadata, tensors })
  expect(header.weightsBytes).toBe(64 * 2 ** 30)
})

test('the parts of a split file are summed up, whichever of them is named', async () => {
  const folder = tempFolder()
  const part = (number: number) => join(folder, `big-0000${number}-of-00003.gguf`)
  const { metadata } = publishedModels[0]!
  writeGguf(part(1), { metadata, tensors: [{ name: 'token_embd.weight', bytes: 64 }] })
  writeGguf(part(2), { metadata: { 'split.no': 1 }, tensors: [{ name: 'blk.0.attn_q.weight', bytes: 640 }] })
  writeGguf(part(3), { metadata: { 'split.no': 2 }, tensors: [{ name: 'output.weight', bytes: 96 }] })
  for (const named of [part(1), part(2)]) {
    const header = await readHeader(await localModel(named), signal)
    expect(header).toMatchObject({ architecture: 'llama', layers: 32, weightsBytes: 800, hostBytes: 64 })
  }
  expect(await readHeader(await localModel(folder), signal)).toMatchObject({ weightsBytes: 800 })
})

test('a folder with several models says nothing, and one with a projector beside the model does', async () => {
  const folder = tempFolder()
  const { metadata } = publishedModels[0]!
  writeGguf(join(folder, 'model-q4.gguf'), { metadata })
  writeGguf(join(folder, 'mmproj-f16.gguf'), { metadata: { 'general.architecture': 'clip' } })
  expect(await readHeader(await localModel(folder), signal)).toMatchObject({ architecture: 'llama' })
  writeGguf(join(folder, 'model-q8.gguf'), { metadata })
  expect(await readHeader(await localModel(folder), signal)).toBeNull()
})

test('a model for images in the same format says nothing that we could use', async () => {
  const path = join(tempFolder(), 'flux.gguf')
  writeGguf(path, { metadata: { 'general.architecture': 'flux' }, tensors: [{ name: 'img_in.weight', bytes: 640 }] })
  expect(await readHeader(await localModel(path), signal)).toBeNull()
})
