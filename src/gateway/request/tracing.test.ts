import { expect, test } from 'vitest'
import { REPLICAS_PREFIX } from '../../api/data-port.ts'
import type { Handler } from '../../http/server.ts'
import { Tracer } from '../../platform/tracing/tracer.ts'
import { aCollector, anExporter } from '../../../test/support/http/collector.ts'
import { TestReplica } from '../../../test/support/worker/data-port.ts'
import { aGateway, hangUp } from '../../../test/support/gateway/gateway-stage.ts'
import { serve } from '../../../test/support/http/http.ts'
import { until } from '../../../test/support/until.ts'
import { dataPortHandler, replicaHandler } from '../../worker/data-port/handler.ts'

/** A gateway, a worker and an engine; the first two send what they trace to a collector of ours, or to `endpoint`. */
async function aTracedWay(options: { ratio?: number; endpoint?: string; engine?: Handler; isOff?: true } = {}) {
  const collector = await aCollector()
  const { exporter, lost } = anExporter(options.endpoint ?? collector.url)
  const seen: (string | undefined)[] = []
  const engine = await serve((request, response) => {
    seen.push(request.headers['traceparent'] as string | undefined)
    if (options.engine) return options.engine(request, response)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  const ratio = options.ratio ?? 1
  let others = 0
  const tracerOf = (service: string): Tracer | undefined =>
    options.isOff ? undefined : new Tracer({ sink: exporter, service, ratio, random: () => 0.5 })
  const replica = new TestReplica(Number(new URL(engine).port))
  const dataPort = {
    replicas: { find: (id: string) => (id === 'r0' || id === 'r1' ? replica : undefined) },
    // That of the last replica in the gateway's table.
    dataKey: () => `key${others}`,
    checks: {},
    tracer: tracerOf('flotilla-worker'),
  }
  const worker = await serve(dataPortHandler(dataPort), {
    wire: { prefix: REPLICAS_PREFIX, handler: replicaHandler(dataPort) },
  })
  const open = async (before: Handler[] = []) => {
    others = before.length
    return aGateway(before, { addresses: [new URL(worker).host], tracer: tracerOf('flotilla-gateway') })
  }
  return { ...collector, exporter, lost, seen, open }
}

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const parent = (flags: string) => ({ headers: { traceparent: `00-${TRACE}-00f067aa0ba902b7-${flags}` } })

test('one trace goes from the client through gateway and worker to the engine', async () => {
  const { open, exporter, spans, seen } = await aTracedWay()
  const { ask } = await open()
  const response = await ask({ model: 'm' }, parent('01'))
  await response.text()
  const requestId = response.headers.get('x-request-id')
  await until(async () => {
    await exporter.flush()
    return spans.length === 4
  })
  const by = (service: string, kind: number) => spans.find((span) => span.service === service && span.kind === kind)!
  const chain = [
    by('flotilla-gateway', 2),
    by('flotilla-gateway', 3),
    by('flotilla-worker', 2),
    by('flotilla-worker', 3),
  ]
  expect(chain.map(({ traceId }) => traceId)).toEqual([TRACE, TRACE, TRACE, TRACE])
  expect(chain.map(({ parentSpanId }) => parentSpanId)).toEqual([
    '00f067aa0ba902b7',
    ...chain.slice(0, 3).map(({ spanId }) => spanId),
  ])
  expect(seen).toEqual([`00-${TRACE}-${chain[3]!.spanId}-01`])
  expect(chain[0]).toMatchObject({
    name: 'POST /v1/chat/completions',
    attributes: {
      'http.response.status_code': 200,
      'gen_ai.request.model': 'm',
      'flotilla.request_id': requestId,
      'flotilla.tries': 1,
    },
  })
  expect(chain[2]!.attributes).toMatchObject({ 'flotilla.outcome': 'answered', 'flotilla.replica': 'r0' })
  for (const span of chain) expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano))
})

test('each try is a span of its own, and what failed says so', async () => {
  const { open, exporter, spans } = await aTracedWay()
  const { ask } = await open([hangUp])
  expect((await ask({ model: 'm' }, parent('01'))).status).toBe(200)
  await until(async () => {
    await exporter.flush()
    return spans.length === 5
  })
  const tries = spans.filter(({ service, kind }) => service === 'flotilla-gateway' && kind === 3)
  expect(tries.map(({ attributes, status }) => [attributes['flotilla.outcome'], status.code])).toEqual([
    ['unreachable', 2],
    ['served', 0],
  ])
  expect(spans.find(({ service, kind }) => service === 'flotilla-worker' && kind === 2)!.parentSpanId).toBe(
    tries[1]!.spanId,
  )
})

test('what is not sampled is passed on as it came, and nothing is told of it', async () => {
  const { open, exporter, spans, seen } = await aTracedWay({ ratio: 0.2 })
  const { ask } = await open()
  await (await ask({ model: 'm' }, parent('00'))).text()
  await (await ask()).text()
  await exporter.flush()
  expect(spans).toEqual([])
  expect(seen).toEqual([`00-${TRACE}-00f067aa0ba902b7-00`, undefined])
})

test('where tracing is off the header of a client still reaches the engine', async () => {
  const { open, seen, spans } = await aTracedWay({ isOff: true })
  const { ask } = await open()
  await (await ask({ model: 'm' }, parent('01'))).text()
  expect([seen, spans]).toEqual([[`00-${TRACE}-00f067aa0ba902b7-01`], []])
})

test('a dead collector costs no request anything', async () => {
  const { open, exporter, lost } = await aTracedWay({ endpoint: 'http://127.0.0.1:1' })
  const { ask } = await open()
  const answers = await Promise.all(Array.from({ length: 50 }, () => ask()))
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200))
  await until(async () => {
    await exporter.flush()
    return lost() > 0
  })
})
