import { onTestFinished } from 'vitest'
import { postSpans } from '../../../src/app/compose/post-spans.ts'
import { systemClock, type Clock } from '../../../src/platform/run/clock.ts'
import { readBody } from '../../../src/http/server.ts'
import { silentLogger } from '../../../src/platform/run/log.ts'
import { Metrics } from '../../../src/platform/metrics/metrics.ts'
import { OtlpExporter } from '../../../src/platform/tracing/otlp-exporter.ts'
import { serve } from './http.ts'

/** A span as it arrived. */
export interface SentSpan {
  service: string
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: Record<string, unknown>
  status: { code: number; message?: string }
}

interface Body {
  resourceSpans: {
    resource: { attributes: Attribute[] }
    scopeSpans: { spans: (Omit<SentSpan, 'attributes' | 'service'> & { attributes: Attribute[] })[] }[]
  }[]
}

interface Attribute {
  key: string
  value: Record<string, unknown>
}

/** A collector that keeps what it is sent, and answers with `status`, or only when it is let. */
export async function aCollector() {
  const spans: SentSpan[] = []
  const state = { status: 200, text: '{"partialSuccess":{}}', paths: [] as string[], wait: Promise.resolve() }
  const url = await serve(async (request, response) => {
    const body = JSON.parse((await readBody(request, 1e7)).toString('utf8')) as Body
    state.paths.push(`${request.method} ${request.url} ${request.headers['content-type']}`)
    await state.wait
    if (state.status < 300) spans.push(...read(body))
    response.writeHead(state.status).end(state.text)
  })
  return { url, spans, state }
}

export function anExporter(endpoint: string, clock: Clock = systemClock) {
  const metrics = new Metrics()
  const exporter = new OtlpExporter({ endpoint, version: '1.2.3', clock, log: silentLogger, metrics, post: postSpans })
  onTestFinished(() => exporter.dispose())
  const counts = metrics.counter('flotilla_spans_total', '', ['outcome'])
  return { exporter, sent: () => counts.cell('sent').value, lost: () => counts.cell('lost').value }
}

function read({ resourceSpans }: Body): SentSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        service: String(toRecord(resource.attributes)['service.name']),
        attributes: toRecord(span.attributes),
      })),
    ),
  )
}

function toRecord(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const [kind, held] = Object.entries(value)[0]!
      return [key, kind === 'intValue' ? Number(held) : held]
    }),
  )
}
