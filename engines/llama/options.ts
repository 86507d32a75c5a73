import { numberOf, readFlags, UsageError, type NumberFlag } from '../lib/flags.ts'

export interface LlamaEngineOptions {
  port: number
  host: string
  /** The module of the installed library. */
  library: string
  modelFile: string
  alias: string
  /** Tokens of one request, prompt and answer together; undefined: the trained length, up to a limit. */
  contextTokens: number | undefined
  parallel: number
  queueLimit: number
  /** Undefined: chosen for this machine. */
  threads: number | undefined
  gpu: 'auto' | 'cuda' | 'vulkan' | 'metal' | 'off'
  /** Undefined: as many as fit. */
  gpuLayers: number | undefined
  batchTokens: number | undefined
  flashAttention: boolean
  mmap: boolean
}

export const help = `Usage: node main.ts --port <port> --library <file> --model <file> [options]

Serves a GGUF model with an OpenAI-style HTTP API, by llama.cpp in this process.

  --port <n>          port to listen on; 0 lets the system choose, the log says which
  --host <address>    address to listen on (127.0.0.1)
  --library <file>    llama-library-….mjs of an installation of the engine (or FLOTILLA_LLAMA_LIBRARY)
  --model <file>      the GGUF file; the first one of a model that is split
  --alias <name>      name of the model in answers (llama)
  --context <n>       longest prompt and answer together, in tokens (what the model was trained for, 8192 at most)
  --parallel <n>      requests worked on at a time, each with a context of its own (4)
  --queue <n>         requests that may wait; beyond, 429 (256)
  --threads <n>       threads that compute (the machine's cores less one)
  --gpu <kind>        auto, cuda, vulkan, metal or off (auto)
  --gpu-layers <n>    layers of the model on the GPU (as many as fit)
  --batch <n>         tokens computed at a time while a prompt is read (512)
  --flash-attention   use flash attention on a CPU too, where the model can
  --no-mmap           read the file into memory instead of mapping it
  --help              this text
`

const numberFlags = {
  port: { least: 0, most: 65_535, whole: true },
  context: { default: 0, least: 16, most: 10_000_000, whole: true },
  parallel: { default: 4, least: 1, most: 256, whole: true },
  queue: { default: 256, least: 0, most: 65_536, whole: true },
  threads: { default: 0, least: 1, most: 512, whole: true },
  'gpu-layers': { default: -1, least: 0, most: 10_000, whole: true },
  batch: { default: 0, least: 1, most: 65_536, whole: true },
} as const satisfies Record<string, NumberFlag>

const textFlags = ['host', 'library', 'model', 'alias', 'gpu'] as const
const bareFlags = ['flash-attention', 'no-mmap'] as const
const gpus = ['auto', 'cuda', 'vulkan', 'metal', 'off'] as const

/** Flags to options. `help` is a value, not a failure; anything wrong throws a UsageError with one line. */
export function parseOptions(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): LlamaEngineOptions | 'help' {
  const values = readFlags(args, [...Object.keys(numberFlags), ...textFlags], bareFlags)
  if (values.has('help')) return 'help'
  const number = (flag: keyof typeof numberFlags): number => numberOf(flag, numberFlags[flag], values.get(flag))
  const given = (flag: keyof typeof numberFlags): number | undefined => (values.has(flag) ? number(flag) : undefined)
  const text = (flag: (typeof textFlags)[number], fallback: string | undefined): string => {
    const value = values.get(flag) ?? fallback
    if (value === undefined || value === '') throw new UsageError(`--${flag} is required`)
    return value
  }
  return {
    port: number('port'),
    host: text('host', '127.0.0.1'),
    library: text('library', env['FLOTILLA_LLAMA_LIBRARY']),
    modelFile: text('model', undefined),
    alias: text('alias', 'llama'),
    contextTokens: given('context'),
    parallel: number('parallel'),
    queueLimit: number('queue'),
    threads: given('threads'),
    gpu: toGpu(text('gpu', 'auto'), env),
    gpuLayers: given('gpu-layers'),
    batchTokens: given('batch'),
    flashAttention: values.has('flash-attention'),
    mmap: !values.has('no-mmap'),
  }
}

/** If a worker gives a replica no device, it says so in CUDA's variable; then no other device is used, either. */
function toGpu(given: string, env: Readonly<Record<string, string | undefined>>): LlamaEngineOptions['gpu'] {
  const gpu = gpus.find((name) => name === given)
  if (gpu === undefined) throw new UsageError(`--gpu takes ${gpus.join(', ')}, not ${JSON.stringify(given)}`)
  return gpu === 'auto' && env['CUDA_VISIBLE_DEVICES'] === '-1' ? 'off' : gpu
}
