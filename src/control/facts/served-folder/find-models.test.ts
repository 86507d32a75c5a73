import { expect, test } from 'vitest'
import { findModels } from './find-models.ts'

const find = (...paths: string[]) => {
  const { models, leftOut } = findModels(paths.map((path) => ({ path, size: 1 })))
  return { models: Object.fromEntries(models.map(({ name, files }) => [name, files.map(({ path }) => path)])), leftOut }
}

test('a model is named after its file, at any depth, and anything else is none', () => {
  expect(find('qwen q8.gguf', 'org/repo/llama-3.gguf', 'README.md', 'weights.safetensors').models).toEqual({
    'qwen q8': ['qwen q8.gguf'],
    'llama-3': ['org/repo/llama-3.gguf'],
  })
})

test('a split file is one model, once all its parts are there', () => {
  const [first, second] = ['a/big-00001-of-00002.gguf', 'a/big-00002-of-00002.gguf']
  expect(find(second, first).models).toEqual({ big: [first, second] })
  expect(find(first).models).toEqual({})
})

test('projectors and what programs hide are no models', () => {
  expect(find('mmproj-F16.gguf', 'llava.mmproj.gguf', '.cache/x.gguf', '.x.gguf').models).toEqual({})
})

test('of two with one name the first by path has it, and a name that cannot be one is left out', () => {
  const tooLong = `${'x'.repeat(201)}.gguf`
  expect(find('b/m.gguf', 'a/m.gguf', tooLong)).toEqual({ models: { m: ['a/m.gguf'] }, leftOut: ['b/m.gguf', tooLong] })
})

test('there is a limit to how many are served', () => {
  const paths = Array.from({ length: 1002 }, (_, i) => `m${String(i).padStart(4, '0')}.gguf`)
  const { models, leftOut } = find(...paths)
  expect([Object.keys(models).length, leftOut]).toEqual([1000, ['m1000.gguf', 'm1001.gguf']])
})
