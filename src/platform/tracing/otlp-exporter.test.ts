import { expect, test } from 'vitest'
import { aCollector, anExporter } from '../../../test/support/http/collector.ts'
import { until } from '../../../test/support/until.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import type { Span } from './tracer.ts'

const aSpan = (fields: Partial<Span> = {}): Span => ({
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  parentId: '',
  name: 'POST /v1/chat/completions',
  kind: 'server',
  service: 'flotilla-gateway',
  startMs: 1_700_000_000_123,
  endMs: 1_700_000_000_623.5,
  attributes: { 'http.response.status_code': 200, 'flotilla.share': 0.5, 'flotilla.ok': true, name: 'x' },
  ...fields,
})

test('spans arrive as OTLP writes them in JSON', async () => {
  const { url, spans, state } = await aCollector()
  const { exporter, sent } = anExporter(`${url}/base/`)
  exporter.add(aSpan())
  exporter.add(aSpan({ service: 'flotilla-worker', parentId: 'aaaaaaaaaaaaaaaa', error: 'it broke' }))
  await exporter.dispose()
  expect(state.paths).toEqual(['POST /base/v1/traces application/json'])
  expect(spans).toMatchObject([
    {
      service: 'flotilla-gateway',
      kind: 2,
      startTimeUnixNano: '1700000000123000000',
      endTimeUnixNano: '1700000000623500000',
      attributes: { 'http.response.status_code': 200, 'flotilla.share': 0.5, 'flotilla.ok': true, name: 'x' },
      status: { code: 0 },
    },
    { service: 'flotilla-worker', parentSpanId: 'aaaaaaaaaaaaaaaa', status: { code: 2, message: 'it broke' } },
  ])
  expect(spans[0]).not.toHaveProperty('parentSpanId')
  expect(sent()).toBe(2)
})

test('they go together, a while after the first; an answer without words is one, too', async () => {
  const clock = new VirtualClock(0)
  const { url, spans, state } = await aCollector()
  state.text = ''
  const { exporter, sent } = anExporter(url, clock)
  for (let i = 0; i < 3; i += 1) exporter.add(aSpan())
  await clock.advance(1999)
  expect(state.paths).toEqual([])
  await clock.advance(1)
  await until(() => sent() === 3)
  expect([state.paths.length, spans.length]).toEqual([1, 3])
})

test('a collector that does not answer costs spans beyond a limit, and no more', async () => {
  const { url, state, spans } = await aCollector()
  const { promise, resolve } = Promise.withResolvers<void>()
  state.wait = promise
  const { exporter, sent, lost } = anExporter(url)
  for (let i = 0; i < 10_000; i += 1) exporter.add(aSpan())
  // 512 are on their way, 4096 wait.
  expect(lost()).toBe(10_000 - 512 - 4096)
  resolve()
  await until(() => sent() === 512 + 4096)
  expect(spans.length).toBe(512 + 4096)
})

test.each([
  ['nothing listens there', 'http://127.0.0.1:1'],
  ['it refuses', undefined],
])('when %s spans are lost, and later ones are sent again', async (_, dead) => {
  const { url, state, spans } = await aCollector()
  state.status = 503
  const clock = new VirtualClock(0)
  const { exporter, sent, lost } = anExporter(dead ?? url, clock)
  exporter.add(aSpan())
  await clock.advance(2000)
  await until(() => lost() === 1)
  state.status = 200
  exporter.add(aSpan())
  await clock.advance(2000)
  await until(() => sent() + lost() === 2)
  expect([sent(), spans.length]).toEqual(dead === undefined ? [1, 1] : [0, 0])
})
