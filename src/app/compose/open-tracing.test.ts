import { expect, test } from 'vitest'
import { systemClock } from '../../platform/run/clock.ts'
import { Lifetime } from '../../platform/run/lifetime.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { Metrics } from '../../platform/metrics/metrics.ts'
import { options } from '../../cli/config/options.ts'
import { fromEnvironment } from '../../cli/config/sources.ts'
import { openTracing } from './open-tracing.ts'

function opened(endpoint: string | undefined) {
  const life = new Lifetime(systemClock, () => {})
  const around = { log: silentLogger, life, metrics: new Metrics() }
  return openTracing({ otlp_endpoint: endpoint, trace_ratio: 1 }, around)
}

test('without a collector there are no tracers', () => {
  expect(opened(undefined)).toBeUndefined()
  expect(opened('http://127.0.0.1:4318')?.('worker').service).toBe('flotilla-worker')
})

test('an address of another protocol is refused with what is expected', () => {
  for (const endpoint of ['localhost:4317', 'grpc://x:1', 'http://']) {
    expect(() => opened(endpoint)).toThrow('such as http://127.0.0.1:4318')
  }
})

test("the standard's variable names the collector, too, and ours wins", () => {
  const theirs = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://theirs:4318' }
  expect(fromEnvironment(theirs, ['otlp_endpoint']).get('otlp_endpoint')?.value).toBe('http://theirs:4318')
  const both = { ...theirs, FLOTILLA_OTLP_ENDPOINT: 'http://ours:4318' }
  expect(fromEnvironment(both, ['otlp_endpoint']).get('otlp_endpoint')?.value).toBe('http://ours:4318')
  expect(options.trace_ratio.type.safeParse('0.25')).toMatchObject({ data: 0.25 })
  for (const wrong of ['2', '-1', 'x', '1.5']) expect(options.trace_ratio.type.safeParse(wrong).success).toBe(false)
})
