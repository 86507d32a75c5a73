import { formatTraceparent } from '../../platform/tracing/trace-context.ts'
import { below, type TracedPlace, type Tracer } from '../../platform/tracing/tracer.ts'
import type { Decision } from './decision.ts'

/** One traced request at a gateway: a span for the request, and one for each replica that it was sent to. */
export class RequestTrace {
  readonly #tracer: Tracer
  readonly #place: TracedPlace
  readonly #tries: { place: TracedPlace; startMs: number }[] = []

  constructor(tracer: Tracer, place: TracedPlace) {
    this.#tracer = tracer
    this.#place = place
  }

  /** Begins the span of a replica; returns the `traceparent` line for it. */
  sent(nowMs: number): string {
    const place = below(this.#place.context)
    this.#tries.push({ place, startMs: nowMs })
    return `traceparent: ${formatTraceparent(place.context)}\r\n`
  }

  /** Exports all spans at the end of the request, from its decision record. */
  end(decision: Decision): void {
    const { atMs, endedMs, status, method, path, model, tries } = decision
    for (const [i, { place, startMs }] of this.#tries.entries()) {
      const made = tries[i]
      this.#tracer.tell(place, {
        name: `send to ${made?.route.nodeName ?? 'a replica'}`,
        kind: 'client',
        startMs,
        endMs: made ? startMs + made.ms : endedMs,
        attributes: {
          'flotilla.try': i + 1,
          ...(made && {
            'flotilla.node': made.route.nodeName,
            'flotilla.replica': made.route.replicaId,
            'flotilla.outcome': made.outcome,
          }),
        },
        error: made?.error ?? undefined,
      })
    }
    this.#tracer.tell(this.#place, {
      name: `${method} ${path}`,
      kind: 'server',
      startMs: atMs,
      endMs: endedMs,
      attributes: {
        'http.request.method': method,
        'url.path': path,
        'http.response.status_code': status,
        ...(model === null ? {} : { 'gen_ai.request.model': model }),
        'flotilla.request_id': decision.requestId,
        'flotilla.queued_ms': Math.round(decision.queuedMs),
        'flotilla.load_wait_ms': Math.round(decision.loadWaitMs),
        'flotilla.tries': tries.length,
        ...(decision.firstByteMs === 0 ? {} : { 'flotilla.first_token_ms': Math.round(decision.firstByteMs - atMs) }),
      },
      // A client's error (4xx) is not an error of the gateway's span.
      error: status >= 500 ? `status ${status}` : undefined,
    })
  }
}
