import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { engineProfile, type EngineProfile, type EngineProfileInput } from '../../api/engine-profile.ts'
import { AppError } from '../../platform/errors.ts'
import { builtInProfiles } from './built-in.ts'
import { commandLine, type LineValues } from './command-line.ts'

function aProfile(input: Partial<EngineProfileInput> = {}): EngineProfile {
  return engineProfile.parse({ name: 'mine', command: ['mine'], ready: { port: true }, ...input })
}

function someValues(values: Partial<LineValues> = {}): LineValues {
  return { program: '/bin/mine', port: 20_001, model: 'm', options: {}, ...values }
}

const words = (text: string): string[] => text.split(' ')
const builtIn = (name: string): EngineProfile => builtInProfiles.find((profile) => profile.name === name)!

test('placeholders are filled in', () => {
  const profile = aProfile({ command: ['mine', '--at={{host}}:{{port}}', '{{ model }}', '{{model_path}}'] })
  const { argv } = commandLine(profile, someValues({ model: 'my model', modelPath: '/models/a b' }))
  expect(argv).toEqual(['/bin/mine', '--at=127.0.0.1:20001', 'my model', '/models/a b'])
})

test('a group is left out when one of its placeholders has no value', () => {
  const profile = aProfile({
    command: ['mine', ['--context', '{{context}}'], ['--both', '{{context}}', '{{port}}'], 'end'],
  })
  expect(commandLine(profile, someValues()).argv).toEqual(['/bin/mine', 'end'])
  expect(commandLine(profile, someValues({ options: { context: 4096 } })).argv).toEqual([
    '/bin/mine',
    '--context',
    '4096',
    '--both',
    '4096',
    '20001',
    'end',
  ])
})

test('a plain argument without a value is an error that names the placeholder, the engine and the model', () => {
  const profile = aProfile({ command: ['mine', '{{voice}}'] })
  expect(() => commandLine(profile, someValues())).toThrow(
    'The engine "mine" needs {{voice}} for "m". Give the model the option "voice".',
  )
  const files = aProfile({ command: ['mine', '{{model_path}}'] })
  expect(() => commandLine(files, someValues())).toThrow('needs {{model_path}} for "m". Give the model a source')
  expect(() => commandLine(files, someValues())).toThrow(AppError)
})

test('options that no placeholder takes become flags, in the way the program understands', () => {
  const options = { max_len: 5, on: true, off: false, words: 'a b', context: 10, ready_path: '/up' }
  const command: EngineProfileInput['command'] = ['mine', ['-c', '{{context}}']]
  const argvOf = (how: 'flags' | 'pairs' | 'none'): string[] =>
    commandLine(aProfile({ command, options: how }), someValues({ options })).argv.slice(3)
  expect(argvOf('flags')).toEqual(['--max-len=5', '--on', '--words=a b'])
  expect(argvOf('pairs')).toEqual(['--max-len', '5', '--on', '--words', 'a b'])
  expect(argvOf('none')).toEqual([])
})

test('an option that an environment variable takes is no flag', () => {
  const profile = aProfile({ env: { DEVICES: '{{devices}}' } })
  const line = commandLine(profile, someValues({ options: { devices: '0,1' } }))
  expect(line).toMatchObject({ argv: ['/bin/mine'], env: { DEVICES: '0,1' } })
})

test('a variable whose placeholder has no value is not set at all', () => {
  const profile = aProfile({ env: { CUDA_VISIBLE_DEVICES: '{{devices}}', MIXED: 'a{{devices}}', FIXED: '1' } })
  expect(commandLine(profile, someValues()).env).toEqual({ FIXED: '1' })
  expect(commandLine(profile, someValues({ devices: [2] })).env).toEqual({
    CUDA_VISIBLE_DEVICES: '2',
    MIXED: 'a2',
    FIXED: '1',
  })
})

test('devices are those of the model’s option, else those it was given', () => {
  const profile = aProfile({ command: ['mine', ['--gpus', '{{devices}}']], env: { DEVICES: '{{devices}}' } })
  const lineOf = (values: Partial<LineValues>): (string | undefined)[] => {
    const { argv, env } = commandLine(profile, someValues(values))
    return [...argv.slice(1), env['DEVICES']]
  }
  expect(lineOf({ devices: [0, 3] })).toEqual(['--gpus', '0,3', '0,3'])
  expect(lineOf({ devices: [0, 3], options: { devices: 1 } })).toEqual(['--gpus', '1', '1'])
  expect(lineOf({ devices: [], options: { devices: '1' } })).toEqual(['--gpus', '1', '1'])
  expect(lineOf({})).toEqual([undefined])
})

test('an empty list of devices hides all of them, in the words of each runtime', () => {
  const profile = builtIn('llama-server')
  const { argv, env } = commandLine(profile, someValues({ modelPath: '/m.gguf', devices: [] }))
  expect(env).toEqual({
    CUDA_DEVICE_ORDER: 'PCI_BUS_ID',
    CUDA_VISIBLE_DEVICES: '-1',
    HIP_VISIBLE_DEVICES: '-1',
    ZE_AFFINITY_MASK: '9999',
    GGML_VK_VISIBLE_DEVICES: '',
  })
  expect(argv).not.toContain('')
  const own = aProfile({ command: ['mine', ['--gpus', '{{devices}}'], 'end'], env: { MY_DEVICES: '{{devices}}' } })
  expect(commandLine(own, someValues({ devices: [] }))).toMatchObject({
    argv: ['/bin/mine', 'end'],
    env: { MY_DEVICES: '' },
  })
})

test.each(['host', 'port', 'model', 'model_path', 'program'])('a model cannot set %s itself', (name) => {
  expect(() => commandLine(aProfile(), someValues({ options: { [name]: '0.0.0.0' } }))).toThrow('is set by Flotilla')
})

test.each(['', '-rf', 'a b', 'a=b', '--x'])('the option %j cannot become a flag', (name) => {
  expect(() => commandLine(aProfile(), someValues({ options: { [name]: 1 } }))).toThrow('cannot become a flag')
})

test('a null character, which no program can be given, is an error', () => {
  expect(() => commandLine(aProfile(), someValues({ options: { a: 'x\0y' } }))).toThrow('null character')
})

test('the context of all parallel requests is what each may use times their number', () => {
  const profile = aProfile({ command: ['mine', ['{{context_total}}']], parallel: 4, options: 'none' })
  const totalOf = (options: LineValues['options']): string | undefined =>
    commandLine(profile, someValues({ options })).argv[1]
  expect(totalOf({ context: 1000 })).toBe('4000')
  expect(totalOf({ context: 1000, parallel: 2 })).toBe('2000')
  expect(totalOf({ parallel: 2 })).toBeUndefined()
})

test('the option ready_path takes the place of the profile’s readiness', () => {
  expect(commandLine(aProfile(), someValues()).ready).toEqual({ port: true })
  expect(commandLine(aProfile(), someValues({ options: { ready_path: '/up' } })).ready).toEqual({ http: '/up' })
  expect(() => commandLine(aProfile(), someValues({ options: { ready_path: 'up' } }))).toThrow('must be a path')
})

test('what a value says is never taken for a placeholder', () => {
  const profile = aProfile({ command: ['mine', '{{a}}'] })
  expect(commandLine(profile, someValues({ options: { a: '{{port}}' } })).argv[1]).toBe('{{port}}')
})

test('a shell gets each value of a shell line as one word, whatever is in it', () => {
  const profile = builtIn('command')
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }).filter((text) => !/[\0\n\uD800-\uDFFF]/u.test(text)),
      (nasty) => {
        const options = { command: `printf '%s|' {{nasty}} {{port}} "$FLOTILLA_PORT"`, nasty }
        const { argv, env } = commandLine(profile, someValues({ program: '/bin/sh', options }))
        const [program, ...args] = argv
        expect(execFileSync(program, args, { env, encoding: 'utf8' })).toBe(`${nasty}|20001|20001|`)
      },
    ),
    { numRuns: 30 },
  )
})

describe('built-in profiles', () => {
  const values = {
    port: 20_001,
    model: 'org/my model',
    modelPath: '/models/x',
    source: 'ollama:llama3.2:3b',
    devices: [0, 1],
    options: { context: 8192, parallel: 2 },
  }
  const gpus = {
    CUDA_DEVICE_ORDER: 'PCI_BUS_ID',
    CUDA_VISIBLE_DEVICES: '0,1',
    HIP_VISIBLE_DEVICES: '0,1',
    ZE_AFFINITY_MASK: '0,1',
  }
  const vulkan = { GGML_VK_VISIBLE_DEVICES: '0,1' }
  const golden: Record<string, { given?: LineValues['options']; argv: string[]; env?: object; requestModel?: string }> =
    {
      llama: {
        given: { gpu_layers: 99, no_mmap: true },
        argv: [
          '--disable-warning=ExperimentalWarning',
          '--max-semi-space-size=1',
          expect.stringMatching(/engines\/llama\/main\.ts$/),
          '--library=/programs/llama',
          ...words('--host=127.0.0.1 --port=20001 --model=/models/x'),
          '--alias=org/my model',
          ...words('--context=8192 --parallel=2 --gpu-layers=99 --no-mmap'),
        ],
        env: { ...gpus, ...vulkan },
      },
      'llama-server': {
        given: { n_gpu_layers: 99, no_mmap: true, jinja: false },
        argv: [
          ...words('--host 127.0.0.1 --port 20001 --model /models/x --alias'),
          'org/my model',
          ...words('--ctx-size 16384 --parallel 2 --n-gpu-layers 99 --no-mmap'),
        ],
        env: { ...gpus, ...vulkan },
      },
      vllm: {
        given: { tensor_parallel_size: 2, enable_prefix_caching: true },
        argv: [
          'serve',
          '/models/x',
          '--served-model-name=org/my model',
          '--host=127.0.0.1',
          '--port=20001',
          '--max-model-len=8192',
          '--max-num-seqs=2',
          '--tensor-parallel-size=2',
          '--enable-prefix-caching',
        ],
        env: gpus,
      },
      sglang: {
        given: { mem_fraction_static: 0.8 },
        argv: [
          'serve',
          '--model-path=/models/x',
          '--served-model-name=org/my model',
          '--host=127.0.0.1',
          '--port=20001',
          '--context-length=8192',
          '--max-running-requests=2',
          '--mem-fraction-static=0.8',
        ],
        env: gpus,
      },
      'text-embeddings-inference': {
        given: { pooling: 'mean', auto_truncate: true },
        argv: [
          '--model-id=/models/x',
          '--served-model-name=org/my model',
          '--hostname=127.0.0.1',
          '--port=20001',
          '--uds-path=/tmp/flotilla-tei-20001',
          '--max-concurrent-requests=2',
          '--context=8192',
          '--pooling=mean',
          '--auto-truncate',
        ],
        env: gpus,
      },
      'whisper-server': {
        given: { language: 'de', convert: true },
        argv: [
          ...words('--host 127.0.0.1 --port 20001 --model /models/x'),
          ...words('--inference-path /v1/audio/transcriptions'),
          ...words('--context 8192 --parallel 2 --language de --convert'),
        ],
        env: { ...gpus, ...vulkan },
      },
      'mlx-lm': {
        given: { max_tokens: 1024 },
        argv: [
          '--model=/models/x',
          '--host=127.0.0.1',
          '--port=20001',
          '--decode-concurrency=2',
          '--context=8192',
          '--max-tokens=1024',
        ],
        requestModel: 'default_model',
      },
      ollama: {
        argv: ['-c', expect.stringContaining('serve'), 'ollama', '/programs/ollama', 'llama3.2:3b'],
        env: {
          ...gpus,
          OLLAMA_HOST: '127.0.0.1:20001',
          OLLAMA_KEEP_ALIVE: '-1',
          OLLAMA_NUM_PARALLEL: '2',
          OLLAMA_CONTEXT_LENGTH: '8192',
          OLLAMA_NOPRUNE: '1',
        },
        requestModel: 'llama3.2:3b',
      },
      sim: {
        given: { tokens_per_s: 100 },
        argv: [
          '--max-semi-space-size=1',
          expect.stringMatching(/engines\/sim\/main\.ts$/),
          ...words('--port 20001 --model'),
          'org/my model',
          ...words('--parallel=2 --context=8192 --tokens-per-s=100'),
        ],
      },
      command: {
        given: { command: 'serve --port {{port}} {{model}} --ctx {{context}}' },
        argv: ['-c', `serve --port '20001' 'org/my model' --ctx '8192'`],
        env: {
          ...gpus,
          FLOTILLA_HOST: '127.0.0.1',
          FLOTILLA_PORT: '20001',
          FLOTILLA_MODEL: 'org/my model',
          FLOTILLA_MODEL_PATH: '/models/x',
          FLOTILLA_SOURCE: 'ollama:llama3.2:3b',
          FLOTILLA_CONTEXT: '8192',
          FLOTILLA_PARALLEL: '2',
          FLOTILLA_DEVICES: '0,1',
        },
      },
    }

  test('are all here', () => {
    expect(builtInProfiles.map(({ name }) => name).toSorted()).toEqual(Object.keys(golden).toSorted())
  })

  test.each(Object.entries(golden))('%s is started like this', (name, { given, argv, env = {}, requestModel }) => {
    const options = { ...values.options, ...given }
    const line = commandLine(builtIn(name), { ...values, program: `/programs/${name}`, options })
    expect(line.argv.slice(1)).toEqual(argv)
    expect(line.env).toEqual(env)
    expect(line.requestModel).toBe(requestModel)
  })

  test.each(builtInProfiles.map((profile) => [profile.name, profile] as const))(
    '%s can do without options',
    (_, profile) => {
      const options = profile.name === 'command' ? { command: 'true' } : {}
      const line = commandLine(profile, { ...values, devices: undefined, program: '/x', options })
      expect(line.argv.join(' ')).not.toContain('{{')
      expect(Object.keys(line.env)).not.toContain('CUDA_VISIBLE_DEVICES')
    },
  )
})
