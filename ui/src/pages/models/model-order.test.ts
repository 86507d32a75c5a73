import { expect, test } from 'vitest'
import type { LiveModel } from '../../../../src/api/admin/live-schemas.ts'
import { findModels, nextOrder, sortModels, type ModelLine, type ModelOrder } from './model-order.ts'

const aModel = (name: string, some: Partial<LiveModel> = {}): LiveModel =>
  ({ name, engine: 'llama', source: null, state: 'ready', ready_replicas: 0, ...some }) as LiveModel
const aLine = (model: LiveModel, bytes = 0): ModelLine => ({
  model,
  memory: { bytes, source: 'claimed' },
  traffic: undefined,
})
const names = (lines: readonly ModelLine[], order: ModelOrder): string[] =>
  sortModels(lines, order).map(({ model }) => model.name)

test('models are found by all words of name, engine and source', () => {
  const models = [aModel('qwen-7b', { source: 'hf:Qwen/x' }), aModel('llama', { engine: 'vllm' })]
  expect(findModels(models, 'HF qwen').map(({ name }) => name)).toEqual(['qwen-7b'])
  expect(findModels(models, 'vllm').map(({ name }) => name)).toEqual(['llama'])
  expect(findModels(models, ' ')).toHaveLength(2)
})

test('names with numbers are in the order of the numbers', () => {
  const lines = ['m-10', 'm-9'].map((name) => aLine(aModel(name)))
  expect(names(lines, { column: 'name', isDescending: false })).toEqual(['m-9', 'm-10'])
})

test('equals stay in the order of their names, also downwards', () => {
  const lines = [aLine(aModel('b'), 5), aLine(aModel('a'), 5), aLine(aModel('c'), 9)]
  expect(names(lines, { column: 'memory', isDescending: true })).toEqual(['c', 'a', 'b'])
})

test('what has failed is first among states', () => {
  const lines = [aLine(aModel('a')), aLine(aModel('b', { state: 'failed' }))]
  expect(names(lines, { column: 'state', isDescending: false })).toEqual(['b', 'a'])
})

test('figures begin with the largest, and a second click turns them round', () => {
  const once = nextOrder({ column: 'name', isDescending: false }, 'rate')
  expect(once).toEqual({ column: 'rate', isDescending: true })
  expect(nextOrder(once, 'rate')).toEqual({ column: 'rate', isDescending: false })
  expect(nextOrder(once, 'engine')).toEqual({ column: 'engine', isDescending: false })
})
