import { join } from 'node:path'
import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { describeModel } from './describe.ts'
import { localModel } from './local-model.ts'
import { writeGguf, type GgufToWrite } from './testing/write-gguf.ts'

const never = new AbortController().signal
const metadata = {
  'general.architecture': 'llama',
  'general.name': 'Tiny',
  'general.file_type': 7,
  'llama.block_count': 2,
  'llama.context_length': 32_768,
  'llama.embedding_length': 64,
  'llama.attention.head_count': 8,
  'llama.attention.head_count_kv': 2,
  'tokenizer.ggml.tokens': { length: 100 },
}
const tensors = [{ name: 'blk.0.attn_q.weight', bytes: 4096 }]
const projector = { metadata: { 'general.architecture': 'clip', 'clip.vision.block_count': 2 }, tensors }

function aFolder(files: Record<string, GgufToWrite>): string {
  const folder = tempFolder()
  for (const [name, gguf] of Object.entries(files)) writeGguf(join(folder, name), gguf)
  return folder
}

const describeAt = async (...path: string[]) => describeModel(await localModel(join(...path)), never)

test('a model is told with its heads, its tensors and a chat template however long it is', async () => {
  const template = `{% for message in messages %}${'x'.repeat(5000)}`
  const folder = aFolder({ 'a.gguf': { metadata: { ...metadata, 'tokenizer.chat_template': template }, tensors } })
  expect(await describeAt(folder, 'a.gguf')).toMatchObject({
    kind: 'model',
    name: 'Tiny',
    header: { architecture: 'llama', quantisation: 'Q8_0', layers: 2, context: 32_768, vocabulary: 100 },
    heads: 8,
    keyValueHeads: 2,
    tensors: 1,
    tensorBytes: 4096,
    chatTemplate: template,
    files: 1,
    projectors: [],
  })
})

test('a chat template that no engine would take is left out', async () => {
  const template = 'x'.repeat(300_000)
  const folder = aFolder({ 'a.gguf': { metadata: { ...metadata, 'tokenizer.chat_template': template }, tensors } })
  expect(await describeAt(folder, 'a.gguf')).toMatchObject({ kind: 'model', chatTemplate: null, tensors: 1 })
})

test('the parts of a split file are one model, whichever is named', async () => {
  const folder = aFolder({
    'big-00001-of-00002.gguf': { metadata, tensors },
    'big-00002-of-00002.gguf': { metadata: { 'split.no': 1 }, tensors: [{ name: 'output.weight', bytes: 1024 }] },
  })
  const whole = { kind: 'model', files: 2, tensors: 2, tensorBytes: 5120, header: { layers: 2 } }
  for (const path of ['big-00001-of-00002.gguf', 'big-00002-of-00002.gguf', '.']) {
    expect(await describeAt(folder, path)).toMatchObject(whole)
  }
})

test('a missing part is named', async () => {
  const folder = aFolder({ 'big-00001-of-00002.gguf': { metadata, tensors } })
  await expect(describeAt(folder, 'big-00001-of-00002.gguf')).rejects.toThrow('big-00002-of-00002.gguf')
  await expect(describeAt(folder)).rejects.toThrow('Parts of the model are missing: big-00002-of-00002.gguf')
})

test('projectors and adapters are told apart from models', async () => {
  const adapter = { metadata: { 'general.architecture': 'llama', 'general.type': 'adapter' }, tensors }
  const folder = aFolder({ 'a.gguf': { metadata, tensors }, 'mmproj-a.gguf': projector })
  expect(await describeAt(folder)).toMatchObject({ kind: 'model', projectors: ['mmproj-a.gguf'] })
  expect(await describeAt(folder, 'mmproj-a.gguf')).toMatchObject({ kind: 'projector' })
  expect(await describeAt(aFolder({ 'lora.gguf': adapter }), 'lora.gguf')).toMatchObject({ kind: 'adapter' })
})

test('several models are a choice', async () => {
  const folder = aFolder({ 'b.gguf': { metadata }, 'a.gguf': { metadata }, 'mmproj.gguf': projector })
  expect(await describeAt(folder)).toEqual({ kind: 'choice', names: ['a.gguf', 'b.gguf'] })
})

test('what is no model is said to be none, whatever it is called', async () => {
  const folder = tempFolder()
  writeFileSync(join(folder, 'short.gguf'), 'no')
  writeFileSync(join(folder, 'text.gguf'), 'no model')
  writeFileSync(join(folder, 'notes.txt'), 'no model either')
  await expect(describeAt(folder, 'short.gguf')).rejects.toThrow('it ends in the middle of its header')
  await expect(describeAt(folder, 'text.gguf')).rejects.toThrow('is not a GGUF file')
  await expect(describeAt(folder, 'notes.txt')).rejects.toThrow('is not a GGUF file')
  const other = tempFolder()
  for (const name of ['a.txt', 'b.txt']) writeFileSync(join(other, name), '')
  expect(await describeAt(other)).toEqual({ kind: 'unknown', files: 2 })
})
