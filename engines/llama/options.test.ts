import { expect, test } from 'vitest'
import { UsageError } from '../lib/flags.ts'
import { help, parseOptions } from './options.ts'
import { chooseThreads } from './native/threads.ts'

const needed = ['--port', '0', '--library', 'l.mjs', '--model', 'm.gguf']

test('three flags are enough', () => {
  expect(parseOptions(needed, {})).toMatchObject({
    port: 0,
    host: '127.0.0.1',
    library: 'l.mjs',
    modelFile: 'm.gguf',
    alias: 'llama',
    contextTokens: undefined,
    parallel: 4,
    queueLimit: 256,
    threads: undefined,
    gpu: 'auto',
    mmap: true,
  })
})

test('the library may come from the environment, and so may the word that there is no GPU', () => {
  const [, , , , ...rest] = needed
  const env = { FLOTILLA_LLAMA_LIBRARY: 'e.mjs', CUDA_VISIBLE_DEVICES: '-1' }
  expect(parseOptions(['--port=1', ...rest], env)).toMatchObject({ library: 'e.mjs', gpu: 'off' })
  expect(parseOptions([...needed, '--gpu=vulkan'], env)).toMatchObject({ gpu: 'vulkan' })
})

test.each([
  [['--port', '0'], '--library is required'],
  [[...needed, '--context', '3'], '--context takes a whole number from 16'],
  [[...needed, '--gpu', 'fast'], '--gpu takes auto, cuda'],
  [[...needed, '--speed', '9'], "Unknown option '--speed'"],
])('%j is refused with one line', (args, message) => {
  expect(() => parseOptions(args, {})).toThrow(UsageError)
  expect(() => parseOptions(args, {})).toThrow(message)
})

test('help names every flag', () => {
  expect(parseOptions(['--help'], {})).toBe('help')
  for (const flag of [
    'port',
    'host',
    'library',
    'model',
    'alias',
    'context',
    'parallel',
    'queue',
    'threads',
    'gpu',
    'gpu-layers',
    'batch',
    'flash-attention',
    'no-mmap',
  ]) {
    expect(help).toContain(`--${flag} `)
  }
})

test('one core is left to the machine, and never more threads than cores are used', () => {
  expect([1, 2, 4, 64].map((cores) => chooseThreads(cores, cores))).toEqual([1, 1, 3, 63])
  expect(chooseThreads(32, 4)).toBe(3)
})
