import { ftruncateSync, closeSync, openSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cacheSize, layerBytes } from '../../core/memory/kv-cache.ts'
import { memorySettings } from '../../core/memory/settings.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { localModel } from './local-model.ts'
import { readHeader } from './read-header.ts'

const signal = new AbortController().signal
const MIB = 2 ** 20

function writeWeights(path: string, bytes: number): void {
  const tensors = {
    __metadata__: { format: 'pt' },
    'model.embed_tokens.weight': { dtype: 'BF16', shape: [bytes / 4], data_offsets: [0, bytes / 2] },
    'lm_head.weight': { dtype: 'BF16', shape: [bytes / 4], data_offsets: [bytes / 2, bytes] },
  }
  const json = Buffer.from(JSON.stringify(tensors))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(json.length))
  const file = openSync(path, 'w')
  writeSync(file, Buffer.concat([length, json]))
  ftruncateSync(file, 8 + json.length + bytes)
  closeSync(file)
}

function aFolder(config: object, files: Record<string, number> = { 'model.safetensors': 4000 }): string {
  const folder = tempFolder()
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config))
  for (const [name, bytes] of Object.entries(files)) writeWeights(join(folder, name), bytes)
  return folder
}

async function read(folder: string) {
  return (await readHeader(await localModel(folder), signal))!
}

/** As published with the models. */
const llama = {
  model_type: 'llama',
  hidden_size: 4096,
  num_hidden_layers: 32,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  vocab_size: 128_256,
  max_position_embeddings: 131_072,
  torch_dtype: 'bfloat16',
}
const gemma = {
  model_type: 'gemma3',
  text_config: {
    model_type: 'gemma3_text',
    hidden_size: 3840,
    num_hidden_layers: 48,
    num_attention_heads: 16,
    num_key_value_heads: 8,
    head_dim: 256,
    sliding_window: 1024,
    layer_types: Array.from({ length: 48 }, (_, i) => (i % 6 === 5 ? 'full_attention' : 'sliding_attention')),
  },
}
const deepseek = {
  model_type: 'deepseek_v2',
  hidden_size: 2048,
  num_hidden_layers: 27,
  num_attention_heads: 16,
  num_key_value_heads: 16,
  kv_lora_rank: 512,
  qk_rope_head_dim: 64,
}
const bert = { model_type: 'bert', hidden_size: 384, num_hidden_layers: 12, num_attention_heads: 12 }

test.each([
  ['Llama-3.1-8B', llama, 8192, 1024],
  ['Gemma-3-12B, described inside its text_config', gemma, 32_768, 2048 + 480],
  ['DeepSeek-V2-Lite with latent attention', deepseek, 4096, 121.5],
  ['an encoder, which keeps nothing', bert, 512, 0],
])('the cache of %s follows from its config.json', async (_, config, context, mib) => {
  const header = await read(aFolder(config))
  const settings = memorySettings({ context, parallel: 1 })
  const bytes = layerBytes(header, settings, cacheSize(header, settings)).reduce((sum, one) => sum + one, 0)
  expect(bytes / MIB).toBe(mib)
})

test('weights are those of all tensors in all shards, and not of the same weights in another layout', async () => {
  const shards = { 'model-00001-of-00002.safetensors': 8000, 'model-00002-of-00002.safetensors': 4000 }
  const header = await read(aFolder(llama, { ...shards, 'consolidated.safetensors': 12_000 }))
  expect(header).toMatchObject({ format: 'safetensors', weightsBytes: 12_000, hostBytes: 0, quantisation: 'bfloat16' })
})

test('a folder without a config.json says nothing', async () => {
  const folder = tempFolder()
  writeWeights(join(folder, 'model.safetensors'), 4000)
  expect(await read(folder)).toBeNull()
})

test('a shard that was cut off, or is something else, is refused by name', async () => {
  const folder = aFolder(llama)
  const path = join(folder, 'model.safetensors')
  truncateSync(path, 1000)
  await expect(read(folder)).rejects.toThrow(`${path} is damaged`)
  truncateSync(path, 20)
  await expect(read(folder)).rejects.toThrow('in the middle of its header')
  writeFileSync(path, 'version https://git-lfs.github.com/spec/v1')
  await expect(read(folder)).rejects.toThrow('is not a safetensors file')
  writeFileSync(path, Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from('[]')]))
  await expect(read(folder)).rejects.toThrow('is not a safetensors file')
})

test('a config.json that makes no sense is refused with what is wrong in it', async () => {
  await expect(read(aFolder({ ...llama, num_hidden_layers: -1 }))).rejects.toThrow('num_hidden_layers')
  const folder = aFolder(llama)
  writeFileSync(join(folder, 'config.json'), '{')
  await expect(read(folder)).rejects.toThrow('is not JSON')
})
