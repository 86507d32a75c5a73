import { expect, test } from 'vitest'
import { attentionOf } from './attention.ts'
import type { LlamaModel } from '../native/library.ts'

type Architecture = LlamaModel['fileInfo']['architectureMetadata']

function aModel(architectureMetadata: Architecture): Pick<LlamaModel, 'fileInfo'> {
  return { fileInfo: { metadata: {}, architectureMetadata } }
}

const inEightBits = {
  flashAttention: true,
  experimentalKvCacheKeyType: 'Q8_0',
  experimentalKvCacheValueType: 'Q8_0',
}

test('on a CPU heads that are no multiple of 64 are kept in 8 bits', () => {
  expect(attentionOf(aModel({ embedding_length: 256, attention: { head_count: 8 } }), false, false)).toEqual(
    inEightBits,
  )
  const given = aModel({ embedding_length: 1000, attention: { head_count: 8, key_length: 96, value_length: 96 } })
  expect(attentionOf(given, false, false)).toEqual(inEightBits)
})

test('others are kept as they are: usual heads, odd ones, unlike ones, unknown ones, and all on a GPU', () => {
  const usual = aModel({ embedding_length: 4096, attention: { head_count: 32 } })
  expect(attentionOf(usual, false, false)).toEqual({ flashAttention: false })
  expect(attentionOf(usual, false, true)).toEqual({ flashAttention: true })
  const others: Architecture[] = [
    { embedding_length: 2560, attention: { head_count: 32 } },
    { embedding_length: 256, attention: { head_count: 8, key_length: 96, value_length: 64 } },
    { embedding_length: 256, attention: { head_count: [8, 4] } },
    {},
  ]
  for (const other of others) expect(attentionOf(aModel(other), false, false)).toEqual({ flashAttention: false })
  const small = aModel({ embedding_length: 256, attention: { head_count: 8 } })
  expect(attentionOf(small, true, false)).toEqual({ flashAttention: 'auto' })
})
