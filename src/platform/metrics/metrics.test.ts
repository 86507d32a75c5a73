import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readExposition } from '../../../test/support/http/exposition.ts'
import { openMetricsText, prefersOpenMetrics, prometheusText } from './exposition.ts'
import { Metrics } from './metrics.ts'

test('counters, gauges and histograms are shown as Prometheus reads them', () => {
  const metrics = new Metrics()
  const requests = metrics.counter('requests_total', 'Requests that ended.', ['model', 'status'])
  requests.cell('a', '200').value += 2
  requests.cell('a', '404').value += 1
  metrics.gauge('age_seconds', 'How old it is.', [], () => [{ labels: [], value: 1.5 }])
  const seconds = metrics.histogram('duration_seconds', 'How long it took.', ['model'], [0.1, 1])
  for (const value of [0.05, 0.1, 0.5, 3]) seconds.cell('a').observe(value)
  expect(prometheusText(metrics)).toBe(`# HELP requests_total Requests that ended.
# TYPE requests_total counter
requests_total{model="a",status="200"} 2
requests_total{model="a",status="404"} 1
# HELP age_seconds How old it is.
# TYPE age_seconds gauge
age_seconds 1.5
# HELP duration_seconds How long it took.
# TYPE duration_seconds histogram
duration_seconds_bucket{model="a",le="0.1"} 2
duration_seconds_bucket{model="a",le="1"} 3
duration_seconds_bucket{model="a",le="+Inf"} 4
duration_seconds_sum{model="a"} 3.65
duration_seconds_count{model="a"} 4
`)
})

test('names from anywhere neither break a line nor grow without end', () => {
  const metrics = new Metrics()
  const requests = metrics.counter('requests_total', 'Requests.', ['model'])
  requests.cell('a"\\\nb').value += 1
  expect(prometheusText(metrics)).toContain('requests_total{model="a\\"\\\\\\nb"} 1\n')
  for (let i = 0; i < 5000; i += 1) requests.cell(`model ${i}`).value += 1
  const lines = prometheusText(metrics).trimEnd().split('\n')
  expect(lines.length).toBeLessThan(1010)
  expect(lines).toContain('requests_total{model="other"} 4001')
})

test('whatever labels hold, both texts are valid and say the same', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string(), fc.string(), fc.nat())), (sets) => {
      const metrics = new Metrics()
      const requests = metrics.counter('a_requests_total', 'With "quotes", \\ and\nlines.', ['model', 'status'])
      const seconds = metrics.histogram('a_seconds', 'How long.', ['model'], [0.001, 1, 10])
      for (const [model, status, count] of sets) {
        requests.cell(model, status).value += count
        seconds.cell(model).observe(count)
      }
      metrics.gauge('a_bytes', 'How many.', ['model'], () =>
        sets.map(([model, , value]) => ({ labels: [model], value })),
      )
      const plain = readExposition(prometheusText(metrics), 'prometheus')
      const open = readExposition(openMetricsText(metrics), 'openmetrics')
      expect(open.get('a_requests')!.samples).toEqual(plain.get('a_requests_total')!.samples)
      expect(open.get('a_bytes')!.samples).toEqual(plain.get('a_bytes')!.samples)
      expect(open.get('a_bytes')!.unit).toBe('bytes')
      const valuesOf = (read: typeof open) => read.get('a_seconds')!.samples.map(({ value }) => value)
      expect(valuesOf(open)).toEqual(valuesOf(plain))
      for (const [model, status] of sets) {
        expect(open.get('a_requests')!.samples.map(({ labels }) => labels)).toContainEqual({ model, status })
      }
    }),
    { numRuns: 50 },
  )
})

test('OpenMetrics is for who asks for it by name', () => {
  const prometheus = 'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1'
  expect(prefersOpenMetrics(prometheus)).toBe(true)
  for (const accept of [undefined, '*/*', 'text/plain', 'text/plain,application/openmetrics-text;q=0.4']) {
    expect(prefersOpenMetrics(accept)).toBe(false)
  }
  expect(prefersOpenMetrics('application/openmetrics-text;q=0')).toBe(false)
})

test('gauges have a limit, too, and what is defined twice is one', () => {
  const metrics = new Metrics()
  const many = Array.from({ length: 1500 }, (_, i) => ({ labels: [`n${i}`], value: i }))
  metrics.gauge('a_bytes', 'Bytes.', ['node'], () => many)
  metrics.gauge('an_age_seconds', 'Age.', ['node'], () => many, 'max')
  metrics.gauge('a_bytes', 'Bytes.', ['node'], () => [{ labels: ['n0'], value: 5 }])
  expect(metrics.counter('b_total', 'B.')).toBe(metrics.counter('b_total', 'B.'))
  const read = readExposition(prometheusText(metrics), 'prometheus')
  const valueOf = (name: string, node: string) =>
    read.get(name)!.samples.find(({ labels }) => labels['node'] === node)!.value
  expect(read.get('a_bytes')!.samples.length).toBe(1001)
  expect([valueOf('a_bytes', 'n0'), valueOf('a_bytes', 'other')]).toEqual([5, (1000 + 1499) * 250])
  expect(valueOf('an_age_seconds', 'other')).toBe(1499)
})
