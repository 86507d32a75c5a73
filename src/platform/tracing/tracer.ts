import { newSpanId, newTraceId, parseTraceparent, type TraceContext } from './trace-context.ts'

/** A timed operation, as it is sent to the collector. */
export interface Span {
  traceId: string
  spanId: string
  /** Empty for the root of a trace. */
  parentId: string
  name: string
  /** An incoming request, or an outgoing one. */
  kind: 'server' | 'client'
  /** The role that did it. */
  service: string
  startMs: number
  endMs: number
  attributes: Record<string, string | number | boolean>
  /** What went wrong, if anything did. */
  error?: string | undefined
}

export interface SpanSink {
  add(span: Span): void
}

export interface TracerOptions {
  sink: SpanSink
  service: string
  /** The share of requests without a parent that are traced. */
  ratio: number
  random: () => number
}

/** A position in a trace under which spans are made. */
export interface TracedPlace {
  /** Outgoing requests have this as their parent. */
  context: TraceContext
  parentId: string
}

/** Decides which requests are traced, and records spans. Undefined where tracing is off. */
export class Tracer {
  readonly service: string
  readonly #options: TracerOptions

  constructor(options: TracerOptions) {
    this.#options = options
    this.service = options.service
  }

  /** For a request from outside: its traceparent decides, if it has one; of the others a share is traced. */
  begin(traceparent: unknown): TracedPlace | undefined {
    const parent = parseTraceparent(traceparent)
    if (parent) return parent.isSampled ? below(parent) : undefined
    if (this.#options.random() >= this.#options.ratio) return undefined
    return { context: { traceId: newTraceId(), spanId: newSpanId(), isSampled: true }, parentId: '' }
  }

  /** For a request between our own processes: traced only as part of a trace. */
  follow(traceparent: unknown): TracedPlace | undefined {
    const parent = parseTraceparent(traceparent)
    return parent?.isSampled ? below(parent) : undefined
  }

  tell(place: TracedPlace, span: Omit<Span, 'traceId' | 'spanId' | 'parentId' | 'service'>): void {
    const { context, parentId } = place
    const { traceId, spanId } = context
    this.#options.sink.add({ traceId, spanId, parentId, service: this.service, ...span })
  }
}

/** A new position below another. */
export function below({ traceId, spanId }: TraceContext): TracedPlace {
  return { context: { traceId, spanId: newSpanId(), isSampled: true }, parentId: spanId }
}
