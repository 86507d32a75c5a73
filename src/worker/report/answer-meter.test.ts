import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AnswerHead } from '../../http/upstream/answer-parser.ts'
import { prometheusText } from '../../platform/metrics/exposition.ts'
import { Metrics } from '../../platform/metrics/metrics.ts'
import { aReport } from '../../../test/support/builders.ts'
import { workerMetrics } from './worker-metrics.ts'
import { usageIn } from './usage-in.ts'

function aMeter(type = 'text/event-stream', more: Record<string, string> = {}, statusCode = 200) {
  const metrics = new Metrics()
  const replicas = [aReport({ id: 'r', model_name: 'm' })]
  const facts = { problem: () => undefined, replicas: () => replicas, hardware: () => undefined }
  const meter = workerMetrics(metrics, facts).meter('r', 'm')
  meter.head({ statusCode, headers: { 'content-type': type, ...more } } as unknown as AnswerHead)
  const valueOf = (name: string): string | undefined =>
    prometheusText(metrics)
      .split('\n')
      .find((line) => line.startsWith(name))
      ?.split(' ')
      .at(-1)
  const tokens = () => [
    valueOf('flotilla_tokens_total{model="m",replica="r",direction="input"}'),
    valueOf('flotilla_tokens_total{model="m",replica="r",direction="output"}'),
  ]
  return { meter, valueOf, tokens }
}

const event = (data: object | string): string => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
const aDelta = (content: string): string => event({ id: 'c', choices: [{ delta: { content } }], usage: null })
const theUsage = event({ choices: [], usage: { prompt_tokens: 17, completion_tokens: 42, total_tokens: 59 } })

test('the tokens of a stream are found in its tail, however it is cut into pieces', () => {
  fc.assert(
    fc.property(fc.nat(200), fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1 }), (deltas, sizes) => {
      const said = aDelta('it says \\"usage\\":{"prompt_tokens":1}')
      const whole = Buffer.from(`${said.repeat(deltas + 1)}${theUsage}${event('[DONE]')}`)
      const { meter, tokens } = aMeter()
      // All pieces come into the same memory.
      const memory = Buffer.alloc(8192)
      for (let at = 0, i = 0; at < whole.length; i += 1) {
        const length = Math.min(sizes[i % sizes.length]!, whole.length - at)
        whole.copy(memory, 0, at, at + length)
        meter.piece(memory.subarray(0, length))
        at += length
      }
      meter.end('answered')
      expect(tokens()).toEqual(['17', '42'])
    }),
    { numRuns: 50 },
  )
})

test('a stream is timed by its first piece and by the gaps between its tokens', () => {
  const { meter, valueOf } = aMeter()
  meter.piece(Buffer.from(aDelta('a')))
  meter.piece(Buffer.from(theUsage))
  meter.end('answered')
  expect(valueOf('flotilla_engine_time_to_first_token_seconds_count{model="m"}')).toBe('1')
  expect(valueOf('flotilla_inter_token_latency_seconds_count{model="m"}')).toBe('1')
  expect(valueOf('flotilla_engine_requests_total{model="m",replica="r",outcome="answered"}')).toBe('1')
})

test('an answer that is no stream has tokens and is not timed as one', () => {
  const { meter, valueOf, tokens } = aMeter('application/json')
  meter.piece(Buffer.from(JSON.stringify({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } })))
  meter.end('answered')
  expect(tokens()).toEqual(['3', '4'])
  expect(valueOf('flotilla_engine_time_to_first_token_seconds_count')).toBe('0')
})

test('what does not tell its tokens is counted as such, what broke off or is no text is not asked', () => {
  const silent = aMeter()
  silent.meter.piece(Buffer.from(aDelta('a')))
  silent.meter.piece(Buffer.from(aDelta('b')))
  silent.meter.end('answered')
  expect(silent.valueOf('flotilla_inter_token_latency_seconds_count{model="m"}')).toBe('1')
  expect(silent.tokens()).toEqual(['0', '0'])
  expect(silent.valueOf('flotilla_answers_without_usage_total{model="m"}')).toBe('1')
  for (const { meter, tokens, valueOf } of [
    aMeter('audio/wav'),
    aMeter('application/json', { 'content-encoding': 'gzip' }),
    aMeter('application/json', {}, 400),
  ]) {
    meter.piece(Buffer.from(theUsage))
    meter.end('answered')
    expect(tokens()).toEqual(['0', '0'])
    expect(valueOf('flotilla_answers_without_usage_total{model="m"}')).toBe('0')
  }
  const broken = aMeter()
  broken.meter.piece(Buffer.from(theUsage))
  broken.meter.end('broken')
  expect(broken.tokens()).toEqual(['0', '0'])
  expect(broken.valueOf('flotilla_engine_requests_total{model="m",replica="r",outcome="broken"}')).toBe('1')
})

test('usage is read as each kind of engine writes it', () => {
  expect(usageIn('', '"usage":{"input_tokens":5,"output_tokens":6}}')).toEqual({ input: 5, output: 6 })
  // Embeddings of llama-server begin with it.
  expect(usageIn('{"object":"list","usage":{"prompt_tokens":7,"total_tokens":7},"data":[', '0.1]}]}')).toEqual({
    input: 7,
    output: 0,
  })
  // Anthropic tells the one at the beginning and the other at the end.
  const start = 'data: {"type":"message_start","message":{"usage":{"input_tokens":25,"output_tokens":1}}}'
  const end = 'data: {"type":"message_delta","usage":{"output_tokens":15}}'
  expect(usageIn(start, end)).toEqual({ input: 25, output: 15 })
  const timings = '"timings":{"cache_n":10,"prompt_n":2,"prompt_ms":1.5,"predicted_n":8}'
  expect(usageIn('', timings)).toEqual({ input: 12, output: 8 })
  expect(usageIn('', '"usage":null')).toBeUndefined()
})
