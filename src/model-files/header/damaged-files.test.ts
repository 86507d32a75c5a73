import { closeSync, openSync, readFileSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AppError } from '../../platform/errors.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import type { ByteSource } from './byte-source.ts'
import { readGguf } from './gguf-file.ts'
import { localModel } from './local-model.ts'
import { readHeader } from './read-header.ts'
import { publishedModels } from './testing/published-models.ts'
import { ggufHeaderBytes, writeGguf } from './testing/write-gguf.ts'

const signal = new AbortController().signal
const metadata = { ...publishedModels[0]!.metadata, 'tokenizer.ggml.tokens': { length: 100 } }
const tensors = [
  { name: 'token_embd.weight', bytes: 320 },
  { name: 'blk.0.attn_q.weight', bytes: 6400 },
]

function aFile(): string {
  const path = join(tempFolder(), 'model.gguf')
  writeGguf(path, { metadata, tensors })
  return path
}

async function read(path: string) {
  return readHeader(await localModel(path), signal)
}

function inMemory(bytes: Buffer): ByteSource {
  return { label: 'a file', size: bytes.length, read: async (at, length) => bytes.subarray(at, at + length) }
}

test('a file that was cut off anywhere is told from a whole one, and read without failing otherwise', async () => {
  const whole = ggufHeaderBytes({ metadata, tensors })
  for (let length = 0; length < whole.length - 32; length += 7) {
    await expect(readGguf(inMemory(whole.subarray(0, length)), signal)).rejects.toBeInstanceOf(AppError)
  }
})

test('a file that lacks its weights is called damaged', async () => {
  const path = aFile()
  truncateSync(path, readFileSync(path).length - 6500)
  await expect(read(path)).rejects.toMatchObject({
    code: 'bad_gateway',
    message: expect.stringContaining('shorter than its header says'),
  })
})

test('what only has the name of a model is refused by its first bytes', async () => {
  const path = join(tempFolder(), 'model.gguf')
  writeFileSync(path, '<!doctype html><title>Please sign in</title>')
  await expect(read(path)).rejects.toMatchObject({ message: expect.stringContaining('is not a GGUF file') })
  writeFileSync(path, '')
  await expect(read(path)).rejects.toMatchObject({ code: 'bad_gateway' })
})

test.each([
  ['tensors', 8],
  ['keys', 16],
])('a number of %s that cannot be is refused before anything is read for it', async (_, at) => {
  const path = aFile()
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(8, 0x7f), 0, 8, at)
  closeSync(file)
  await expect(read(path)).rejects.toMatchObject({ message: expect.stringContaining('it claims to have') })
})

test('a list that claims to be longer than any file is refused', async () => {
  const bytes = ggufHeaderBytes({ metadata: { a: [1, 2, 3] } })
  // After magic, version, counts, the key with its length, the kind of value and the kind of entry.
  bytes.fill(0x7f, 24 + 9 + 8, 24 + 9 + 8 + 6)
  await expect(readGguf(inMemory(bytes), signal)).rejects.toBeInstanceOf(AppError)
})

test('a header of another version, and one with impossible layers, is refused with the reason', async () => {
  const bytes = ggufHeaderBytes({ metadata })
  bytes.writeUInt32LE(9, 4)
  await expect(readGguf(inMemory(bytes), signal)).rejects.toThrow('version 9')
  const path = join(tempFolder(), 'model.gguf')
  writeGguf(path, { metadata: { ...metadata, 'llama.block_count': 4_000_000_000 } })
  await expect(read(path)).rejects.toThrow('4000000000 layers')
})

test('whatever the bytes are, the answer is a header or an error with a code, never a crash', async () => {
  const whole = ggufHeaderBytes({ metadata, tensors })
  const edit = fc.record({ at: fc.nat(whole.length - 1), byte: fc.nat(255) })
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 8 }), async (edits) => {
      const bytes = Buffer.from(whole)
      for (const { at, byte } of edits) bytes[at] = byte
      const outcome = await readHeader([{ path: 'a.gguf', bytes: inMemory(bytes) }], signal).catch((e: unknown) => e)
      if (outcome instanceof Error) expect(outcome).toBeInstanceOf(AppError)
      else expect((outcome as { weightsBytes: number } | null)?.weightsBytes ?? 0).toBeGreaterThanOrEqual(0)
    }),
    { numRuns: 500 },
  )
})

test('a part that is missing is named', async () => {
  const path = join(tempFolder(), 'big-00001-of-00002.gguf')
  writeGguf(path, { metadata })
  await expect(read(path)).rejects.toMatchObject({
    code: 'not_found',
    message: expect.stringContaining('big-00002-of-00002.gguf'),
  })
})

test('neither a device nor what is not there is read', async () => {
  await expect(read('/dev/zero')).rejects.toMatchObject({ code: 'bad_request' })
  await expect(read(join(tempFolder(), 'none.gguf'))).rejects.toMatchObject({ code: 'not_found' })
})
