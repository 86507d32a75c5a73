import { expect, test } from 'vitest'
import { Metrics } from './metrics.ts'

test('counters, gauges and histograms are shown as Prometheus reads them', () => {
  const metrics = new Metrics()
  const requests = metrics.counter('requests_total', 'Requests that ended.', ['model', 'status'])
  requests.cell('a', '200').value += 2
  requests.cell('a', '404').value += 1
  metrics.gauge('age_seconds', 'How old it is.', [], () => [{ labels: [], value: 1.5 }])
  const seconds = metrics.histogram('duration_seconds', 'How long it took.', ['model'], [0.1, 1])
  for (const value of [0.05, 0.1, 0.5, 3]) seconds.cell('a').observe(value)
  expect(metrics.text()).toBe(`# HELP requests_total Requests that ended.
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
  expect(metrics.text()).toContain('requests_total{model="a\\"\\\\\\nb"} 1\n')
  for (let i = 0; i < 5000; i += 1) requests.cell(`model ${i}`).value += 1
  const lines = metrics.text().trimEnd().split('\n')
  expect(lines.length).toBeLessThan(1010)
  expect(lines).toContain('requests_total{model="other"} 4001')
})
