import { expect, test } from 'vitest'
import { modelMistakes, type EngineWants } from './model-mistakes.ts'

const anEngine = (fields: Partial<EngineWants>): EngineWants => ({
  name: 'sim',
  optionNames: ['tokens_per_s', 'load_ms'],
  memoryOptions: ['memory_bytes'],
  shellOption: null,
  needsSource: false,
  ...fields,
})
const llama = anEngine({ name: 'llama', optionNames: ['gpu_layers'], memoryOptions: [], needsSource: true })
const open = anEngine({ name: 'vllm', optionNames: null })
const command = anEngine({ name: 'command', optionNames: [], memoryOptions: [], shellOption: 'command' })
const all = [anEngine({}), llama, open, command]

const texts = (model: { engine?: string; source?: string | null; options?: Record<string, string | number> }) =>
  modelMistakes({ engine: 'sim', source: null, options: {}, ...model }, all).map(({ text }) => text)

test('an engine that no node knows is told with the near names, or with all', () => {
  expect(texts({ engine: 'simm' })).toEqual(['No node knows the engine "simm". Did you mean sim?'])
  expect(texts({ engine: 'warp' })).toEqual(['No node knows the engine "warp". There are: command, llama, sim, vllm.'])
})

test('an option that the engine does not take is told with the near names, or with all', () => {
  expect(texts({ options: { tokenz_per_s: 5 } })).toEqual([
    'The engine sim has no option "tokenz_per_s". Did you mean tokens_per_s?',
  ])
  expect(texts({ options: { colour: 'red' } })).toEqual([
    'The engine sim has no option "colour". There are: context, devices, load_ms, memory_bytes, parallel, ready_path, tokens_per_s.',
  ])
})

test('options of all engines, those of memory and either spelling are taken', () => {
  expect(texts({ options: { context: 1, parallel: 2, memory_bytes: 3, 'tokens-per-s': 4, ready_path: '/h' } })).toEqual(
    [],
  )
})

test('an engine that lists no options takes any; so does one of which a single node lists none', () => {
  expect(texts({ engine: 'vllm', options: { anything: 1 } })).toEqual([])
  const older = anEngine({ optionNames: null })
  expect(modelMistakes({ engine: 'sim', source: null, options: { x: 1 } }, [...all, older])).toEqual([])
})

test('a shell line names the options that it uses', () => {
  const line = 'serve --port {{port}} --size {{ size }}'
  expect(texts({ engine: 'command', options: { command: line, size: 'small' } })).toEqual([])
  expect(texts({ engine: 'command', options: { command: 'serve', sise: 'small' } })).toHaveLength(1)
})

test('an engine that needs files is refused without a source', () => {
  expect(texts({ engine: 'llama' })).toEqual(['The engine llama cannot start a model that has no source.'])
  expect(texts({ engine: 'llama', source: 'file:/m.gguf' })).toEqual([])
})

test('where no node says anything of engines nothing is judged', () => {
  expect(modelMistakes({ engine: 'warp', source: null, options: {} }, [])).toEqual([])
})
