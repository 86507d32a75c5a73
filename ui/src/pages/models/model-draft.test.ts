import { expect, test } from 'vitest'
import type { ModelView } from '../../../../src/api/admin/model-schemas.ts'
import { blankModel, bodyOfModel, draftOfModel, mistakesOf, modelWords, type ModelDraft } from './model-draft.ts'

const aDraft = (some: Partial<ModelDraft> = {}): ModelDraft => ({ ...blankModel, name: 'qwen', ...some })
const aModel = (some: Partial<ModelView> = {}): ModelView =>
  ({
    name: 'qwen',
    engine: 'llama',
    source: null,
    options: {},
    memory: null,
    anti_affinity: null,
    ...some,
  }) as ModelView

test('empty fields are sent as nothing', () => {
  expect(bodyOfModel(aDraft())).toEqual({
    name: 'qwen',
    engine: 'llama',
    source: null,
    options: {},
    memory: null,
    anti_affinity: null,
  })
})

test('a stored model opens as it is and is sent as it was', () => {
  const model = aModel({
    source: 'hf:org/repo/file.gguf',
    options: { context: 8192, jinja: true, tag: '7' },
    memory: { vram: 12 * 2 ** 30, ram: 5 },
    anti_affinity: 'big',
  })
  const draft = draftOfModel(model)
  expect(draft).toMatchObject({ vram: '12GiB', ram: '5', options: { context: '8192', jinja: 'true', tag: '"7"' } })
  expect(bodyOfModel(draft)).toMatchObject({
    source: model.source,
    options: model.options,
    memory: { vram: '12GiB', ram: '5' },
    anti_affinity: 'big',
  })
})

test('one size of two means none of the other', () => {
  expect(bodyOfModel(aDraft({ ram: '2GB' })).memory).toEqual({ vram: 0, ram: '2GB' })
})

test.each<[string, Partial<ModelDraft>, Partial<Record<keyof ModelDraft, string>>]>([
  ['nothing is wrong', {}, {}],
  ['a name is needed', { name: ' ' }, { name: 'must not be empty' }],
  ['an engine is needed', { engine: '' }, { engine: 'must not be empty' }],
  [
    'a source has a known beginning',
    { source: 'C:\\x' },
    { source: expect.stringContaining('must begin with file:/') as string },
  ],
  ['a size is a size', { vram: 'lots' }, { vram: expect.stringContaining('is no size') as string }],
  [
    'an option that is too long is named',
    { options: { a: 'x'.repeat(5000) } },
    { options: 'a: must be at most 4096 characters' },
  ],
  ['a name that is too long', { name: 'x'.repeat(300) }, { name: 'must be at most 200 characters' }],
])('%s', (_, some, mistakes) => {
  expect(mistakesOf(aDraft(some))).toEqual(mistakes)
})

test('two drafts can be told apart in words', () => {
  const [a, b] = [modelWords(aDraft()), modelWords(aDraft({ options: { context: '8192' } }))]
  expect(Object.keys(a).filter((field) => a[field] !== b[field])).toEqual(['Options'])
})
