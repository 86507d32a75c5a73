import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { writeGguf } from '../../../../model-files/header/testing/write-gguf.ts'
import { aStage } from '../../../../../test/support/control/admin-stage.ts'

const metadata = {
  'general.architecture': 'llama',
  'llama.block_count': 2,
  'llama.context_length': 4096,
  'llama.embedding_length': 64,
  'llama.attention.head_count': 8,
}

test('a source is looked into where nodes would get it', async () => {
  const { scene, models } = await aStage()
  mkdirSync(models, { recursive: true })
  writeGguf(join(models, 'tiny.gguf'), { metadata, tensors: [{ name: 'blk.0.attn_q.weight', bytes: 64 }] })
  expect(await scene.admin('POST', '/api/models/inspect', { source: 'frontend:tiny.gguf' })).toMatchObject({
    status: 200,
    body: { header: { format: 'gguf', architecture: 'llama', layers: 2, context: 4096 } },
  })
})

test('what cannot be looked into is told: no such file, no source at all, no node that has it', async () => {
  const { scene } = await aStage()
  const look = async (source: string) => {
    const { status, body } = await scene.admin<{ error: { message: string } }>('POST', '/api/models/inspect', {
      source,
    })
    return [status, body.error.message]
  }
  expect(await look('frontend:none.gguf')).toEqual([
    404,
    'There is no "none.gguf" below the models folder of this frontend.',
  ])
  expect((await look('nowhere'))[0]).toBe(400)
  expect(await look('file:/models/x.gguf')).toEqual([503, 'No node that could run it is online.'])
})
