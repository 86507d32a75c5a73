import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { modelInspected } from '../../api/bus/messages.ts'
import { publishedModels } from '../../model-files/header/testing/published-models.ts'
import { writeGguf } from '../../model-files/header/testing/write-gguf.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { inspectLocalModel } from './inspect-model.ts'

const content = { metadata: publishedModels[0]!.metadata, tensors: [{ name: 'blk.0.attn_q.weight', bytes: 6400 }] }

test('the header of a file on the node is answered, with the files that its options name', async () => {
  const folder = tempFolder()
  const projector = join(folder, 'mmproj.gguf')
  writeGguf(join(folder, 'model.gguf'), content)
  writeGguf(projector, { metadata: {}, tensors: [{ name: 'v.patch_embd.weight', bytes: 3200 }] })
  const options = { mmproj: `file:${projector}`, draft: 'hf:org/name/draft.gguf', context: 4096 }
  const answer = await inspectLocalModel({ source: `file:${join(folder, 'model.gguf')}`, options })
  expect(modelInspected.parse(answer)).toEqual(answer)
  expect(answer).toMatchObject({ payload_bytes: 0, header: { architecture: 'llama', weights_bytes: 6400 } })
  expect(answer.header?.projector_bytes).toBeGreaterThan(3200)
})

test('a folder that is no model has no header', async () => {
  const folder = join(tempFolder(), 'empty')
  mkdirSync(folder)
  expect(await inspectLocalModel({ source: `file:${folder}`, options: {} })).toEqual({ payload_bytes: 0, header: null })
})

test('only files on the node are looked into, by the rules for sources', async () => {
  const ask = (source: string) => inspectLocalModel({ source, options: {} })
  await expect(ask('hf:org/name/model.gguf')).rejects.toMatchObject({ code: 'bad_request' })
  await expect(ask('https://127.0.0.1:9/model.gguf')).rejects.toMatchObject({ code: 'bad_request' })
  await expect(ask('file:relative.gguf')).rejects.toMatchObject({ code: 'bad_request' })
  await expect(ask(`file:${tempFolder()}/../model.gguf`)).rejects.toMatchObject({ code: 'bad_request' })
  await expect(ask('file:/dev/zero')).rejects.toMatchObject({ code: 'bad_request' })
  await expect(ask(`file:${tempFolder()}/none.gguf`)).rejects.toMatchObject({ code: 'not_found' })
})
