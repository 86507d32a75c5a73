import { numberOf, readFlags, UsageError, type NumberFlag } from '../lib/flags.ts'
import { parseFault, type Fault } from './faults.ts'
import { defaultTiming, type Timing } from './timing.ts'

export interface SimOptions {
  port: number
  model: string
  loadMs: number
  timing: Timing
  parallel: number
  queueLimit: number
  memoryBytes: number
  outOfMemoryAbove: number
  contextTokens: number
  prefixCacheTokens: number
  seed: number
  fault: Fault | undefined
}

export const help = `Usage: node main.ts --port <port> [options]

A simulated inference engine with an OpenAI-style HTTP API on 127.0.0.1.

  --port <n>                  port to listen on; 0 lets the system choose, the log says which
  --model <name>              name of the model it pretends to serve (sim)
  --load-ms <n>               time until it is ready (0)
  --ttft-ms <n>               fixed time to the first token (${defaultTiming.ttftMs})
  --prefill-tokens-per-s <n>  speed of reading a prompt, 0 = at once (${defaultTiming.prefillTokensPerS})
  --tokens-per-s <n>          speed of each stream, 0 = as fast as possible (${defaultTiming.tokensPerS})
  --parallel <n>              requests served at a time (4)
  --queue <n>                 requests that may wait; beyond, 429 (256)
  --memory-bytes <n>          memory it declares to use (0)
  --out-of-memory-above <n>   fails to start when it declares more, as engines do whose GPU is full (never)
  --context <n>               longest prompt and answer together, in tokens (131072)
  --prefix-cache-tokens <n>   size of the simulated prefix cache (65536)
  --seed <n>                  seed of the text where a request gives none (0)
  --fault <json>              start with a fault, e.g. '{"kind":"crash","after_requests":3}'
  --help                      this text
`

const DAY_MS = 24 * 60 * 60 * 1000
const numberFlags = {
  port: { least: 0, most: 65_535, whole: true },
  'load-ms': { default: 0, least: 0, most: DAY_MS, whole: false },
  'ttft-ms': { default: defaultTiming.ttftMs, least: 0, most: DAY_MS, whole: false },
  'prefill-tokens-per-s': { default: defaultTiming.prefillTokensPerS, least: 0, most: 1e9, whole: false },
  'tokens-per-s': { default: defaultTiming.tokensPerS, least: 0, most: 1e9, whole: false },
  parallel: { default: 4, least: 1, most: 4096, whole: true },
  queue: { default: 256, least: 0, most: 65_536, whole: true },
  'memory-bytes': { default: 0, least: 0, most: Number.MAX_SAFE_INTEGER, whole: true },
  'out-of-memory-above': {
    default: Number.MAX_SAFE_INTEGER,
    least: 0,
    most: Number.MAX_SAFE_INTEGER,
    whole: true,
  },
  context: { default: 131_072, least: 2, most: 10_000_000, whole: true },
  'prefix-cache-tokens': { default: 65_536, least: 0, most: 10_000_000, whole: true },
  seed: { default: 0, least: -Number.MAX_SAFE_INTEGER, most: Number.MAX_SAFE_INTEGER, whole: true },
} as const satisfies Record<string, NumberFlag>

const textFlags = ['model', 'fault'] as const
const LONGEST_MODEL_NAME = 256

/** Flags to options. `help` is a value, not a failure; anything wrong throws a UsageError with one line. */
export function parseOptions(args: readonly string[]): SimOptions | 'help' {
  const values = readFlags(args, [...Object.keys(numberFlags), ...textFlags])
  if (values.has('help')) return 'help'
  const number = (flag: keyof typeof numberFlags): number => numberOf(flag, numberFlags[flag], values.get(flag))
  const model = values.get('model') ?? 'sim'
  if (model === '' || model.length > LONGEST_MODEL_NAME) {
    throw new UsageError(`--model takes a name of 1 to ${LONGEST_MODEL_NAME} characters`)
  }
  return {
    port: number('port'),
    model,
    loadMs: number('load-ms'),
    timing: {
      ttftMs: number('ttft-ms'),
      prefillTokensPerS: number('prefill-tokens-per-s'),
      tokensPerS: number('tokens-per-s'),
    },
    parallel: number('parallel'),
    queueLimit: number('queue'),
    memoryBytes: number('memory-bytes'),
    outOfMemoryAbove: number('out-of-memory-above'),
    contextTokens: number('context'),
    prefixCacheTokens: number('prefix-cache-tokens'),
    seed: number('seed'),
    fault: toFault(values.get('fault')),
  }
}

function toFault(given: string | undefined): Fault | undefined {
  if (given === undefined) return undefined
  let value: unknown
  try {
    value = JSON.parse(given)
  } catch {
    throw new UsageError(`--fault takes JSON, not ${JSON.stringify(given)}`)
  }
  const fault = parseFault(value)
  if (typeof fault === 'string') throw new UsageError(`--fault: ${fault}`)
  return fault
}
