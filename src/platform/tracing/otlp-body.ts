import type { Span } from './tracer.ts'

/** Spans as OTLP writes them in JSON: ids in hexadecimal, times in nanoseconds as strings, enumerations as numbers. */
export function otlpBody(spans: readonly Span[], version: string): object {
  const byService = Map.groupBy(spans, ({ service }) => service)
  return {
    resourceSpans: [...byService].map(([service, own]) => ({
      resource: { attributes: attributes({ 'service.name': service, 'service.version': version }) },
      scopeSpans: [{ scope: { name: 'flotilla', version }, spans: own.map(toOtlp) }],
    })),
  }
}

const KINDS = { server: 2, client: 3 } as const
const STATUS = { unset: 0, error: 2 } as const

function toOtlp({ traceId, spanId, parentId, name, kind, startMs, endMs, attributes: said, error }: Span): object {
  return {
    traceId,
    spanId,
    ...(parentId === '' ? {} : { parentSpanId: parentId }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(endMs),
    attributes: attributes(said),
    status: error === undefined ? { code: STATUS.unset } : { code: STATUS.error, message: error },
  }
}

function attributes(said: Record<string, string | number | boolean>): object[] {
  return Object.entries(said).map(([key, value]) => ({ key, value: valueOf(value) }))
}

function valueOf(value: string | number | boolean): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}

/** A string, because milliseconds times a million exceeds the range of exact numbers. */
function nanoseconds(ms: number): string {
  return String(BigInt(Math.round(ms * 1000)) * 1000n)
}
