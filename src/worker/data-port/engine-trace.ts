import type { AnswerHead } from '../../http/upstream/answer-parser.ts'
import type { Forwarded } from '../../http/proxy.ts'
import { formatTraceparent } from '../../platform/tracing/trace-context.ts'
import { below, type TracedPlace, type Tracer } from '../../platform/tracing/tracer.ts'

/** One traced request at a worker: a span for the worker, and one for the engine's work. */
export class EngineTrace {
  readonly #tracer: Tracer
  readonly #place: TracedPlace
  readonly #engine: TracedPlace
  readonly #attributes: Record<string, string>
  readonly #startMs = Date.now()
  #sentMs = 0
  #firstMs = 0
  #status: number | undefined

  constructor(tracer: Tracer, place: TracedPlace, replica: { id: string; modelName: string }) {
    this.#tracer = tracer
    this.#place = place
    this.#engine = below(place.context)
    this.#attributes = { 'gen_ai.request.model': replica.modelName, 'flotilla.replica': replica.id }
  }

  /** Call when the request goes to the engine. Returns the `traceparent` header line for it. */
  sent(): string {
    this.#sentMs = Date.now()
    return `traceparent: ${formatTraceparent(this.#engine.context)}\r\n`
  }

  head({ statusCode }: AnswerHead): void {
    this.#status = statusCode
  }

  piece(): void {
    if (this.#firstMs === 0) this.#firstMs = Date.now()
  }

  end(outcome: Forwarded['outcome'] | 'failed', error?: string): void {
    const endMs = Date.now()
    const isBad = (outcome !== 'answered' && outcome !== 'client gone') || (this.#status ?? 0) >= 500
    const about = {
      endMs,
      error: isBad ? (error ?? `${outcome}, status ${this.#status ?? 'none'}`) : undefined,
      attributes: {
        ...this.#attributes,
        'flotilla.outcome': outcome,
        ...(this.#status === undefined ? {} : { 'http.response.status_code': this.#status }),
        ...(this.#firstMs === 0 ? {} : { 'flotilla.first_token_ms': this.#firstMs - this.#startMs }),
      },
    }
    if (this.#sentMs > 0)
      this.#tracer.tell(this.#engine, { name: 'engine', kind: 'client', startMs: this.#sentMs, ...about })
    this.#tracer.tell(this.#place, { name: 'replica', kind: 'server', startMs: this.#startMs, ...about })
  }
}
