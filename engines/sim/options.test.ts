import { expect, test } from 'vitest'
import { UsageError } from '../lib/flags.ts'
import { help, parseOptions } from './options.ts'

test('a port is all it needs', () => {
  expect(parseOptions(['--port', '20000'])).toEqual({
    port: 20_000,
    model: 'sim',
    loadMs: 0,
    timing: { ttftMs: 50, prefillTokensPerS: 20_000, tokensPerS: 60 },
    parallel: 4,
    queueLimit: 256,
    memoryBytes: 0,
    outOfMemoryAbove: Number.MAX_SAFE_INTEGER,
    contextTokens: 131_072,
    prefixCacheTokens: 65_536,
    seed: 0,
    fault: undefined,
  })
})

test('every flag is read', () => {
  const flags = '--port=1 --model=m --load-ms=2 --ttft-ms=3.5 --prefill-tokens-per-s=4 --tokens-per-s=0.5 --parallel=6'
  const more =
    '--queue=0 --memory-bytes=8000000000 --out-of-memory-above=9000000000 --context=9 --prefix-cache-tokens=10 --seed=-11'
  const fault = '--fault={"kind":"crash","after_requests":3,"exit_code":7}'
  expect(parseOptions([...flags.split(' '), ...more.split(' '), fault])).toEqual({
    port: 1,
    model: 'm',
    loadMs: 2,
    timing: { ttftMs: 3.5, prefillTokensPerS: 4, tokensPerS: 0.5 },
    parallel: 6,
    queueLimit: 0,
    memoryBytes: 8_000_000_000,
    outOfMemoryAbove: 9_000_000_000,
    contextTokens: 9,
    prefixCacheTokens: 10,
    seed: -11,
    fault: { kind: 'crash', afterRequests: 3, exitCode: 7, factor: 10, status: 503 },
  })
})

test('help is a value', () => {
  expect(parseOptions(['--help'])).toBe('help')
  expect(help).toContain('--prefix-cache-tokens')
})

test.each([
  [[], '--port is required'],
  [['--port', '70000'], '--port takes a whole number from 0 to 65535, not "70000"'],
  [['--port', '20000x'], '--port takes a whole number'],
  [['--port', '1', '--parallel', '0'], '--parallel takes'],
  [['--port', '1', '--parallel', '1.5'], '--parallel takes a whole number'],
  [['--port', '1', '--colour', 'red'], "Unknown option '--colour'"],
  [['--port', '1', 'extra'], "Unexpected argument 'extra'"],
  [['--port'], "'--port <value>' argument missing"],
  [['--port', '1', '--model', ''], '--model takes a name'],
  [['--port', '1', '--fault', 'crash'], '--fault takes JSON'],
  [['--port', '1', '--fault', '{"kind":"melt"}'], '--fault: "kind" is one of none, crash'],
  [['--port', '1', '--fault', '{"kind":"refuse","status":200}'], '--fault: "status" is a whole number from 400 to 599'],
  [['--port', '1', '--fault', '{"kind":"none","when":1}'], '--fault: unknown field "when"'],
  [['--port', '1', '--fault', '{}'], '--fault: "kind" is missing'],
  [['--port', '1', '--fault', '[]'], '--fault: a fault is a JSON object'],
])('%j is refused in one line', (args, message) => {
  const parse = (): unknown => parseOptions(args)
  expect(parse).toThrow(UsageError)
  expect(parse).toThrow(message)
  expect(parse).not.toThrow('\n')
})
