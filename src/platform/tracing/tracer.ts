import { newSpanId, newTraceId, parseTraceparent, type TraceContext } from './trace-context.ts'

/** Something that took time, as a collector is told. */
export interface Span {
  traceId: string
  spanId: string
  /** Empty for the first of a trace. */
  parentId: string
  name: string
  /** A request that came in, or one that went out. */
  kind: 'server' | 'client'
  /** Which role did it. */
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

/** A place in a trace from which spans are told. */
export interface TracedPlace {
  /** Of this place; what goes out from here has it as its parent. */
  context: TraceContext
  parentId: string
}

/** Decides what is traced, and tells of it. There is none where tracing is off. */
export class Tracer {
  readonly service: string
  readonly #options: TracerOptions

  constructor(options: TracerOptions) {
    this.#options = options
    this.service = options.service
  }

  /** For a request that comes from outside: who has a parent does as that one says, of others a share is traced. */
  begin(traceparent: unknown): TracedPlace | undefined {
    const parent = parseTraceparent(traceparent)
    if (parent) return parent.isSampled ? below(parent) : undefined
    if (this.#options.random() >= this.#options.ratio) return undefined
    return { context: { traceId: newTraceId(), spanId: newSpanId(), isSampled: true }, parentId: '' }
  }

  /** For a request of ours: traced only as a part of a trace. */
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

/** A place of its own below another. */
export function below({ traceId, spanId }: TraceContext): TracedPlace {
  return { context: { traceId, spanId: newSpanId(), isSampled: true }, parentId: spanId }
}
