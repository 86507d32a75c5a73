import { atMost, type Clock } from '../run/clock.ts'
import type { Logger } from '../run/log.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { otlpBody } from './otlp-body.ts'
import type { Span, SpanSink } from './tracer.ts'

export interface OtlpOptions {
  /** The collector's URL; spans go to `/v1/traces` below it. */
  endpoint: string
  version: string
  clock: Clock
  log: Logger
  metrics: Metrics
  /** Sends one body as JSON; resolves to why it was not taken, if it was not, and never rejects. */
  post: (url: URL, body: unknown, timeoutMs: number) => Promise<string | undefined>
}

/** The limit of waiting spans; further ones are dropped, because a collector must never cost a request. */
const MOST_WAITING = 4096
const MOST_AT_ONCE = 512
const EVERY_MS = 2000
const SEND_WITHIN_MS = 5000
const END_WITHIN_MS = 2000

/**
 * Sends spans to an OpenTelemetry collector as JSON over HTTP. Spans that cannot be sent are dropped and counted; no
 * request waits for them, and there is no retry: by then there are newer ones.
 */
export class OtlpExporter implements SpanSink {
  readonly #options: OtlpOptions
  readonly #url: URL
  readonly #sent
  readonly #lost
  #waiting: Span[] = []
  #cancel: (() => void) | undefined
  #sending: Promise<void> | undefined
  #problem: string | undefined
  #isEnding = false

  constructor(options: OtlpOptions) {
    this.#options = options
    this.#url = tracesUrl(options.endpoint)
    const spans = spanCounter(options.metrics)
    this.#sent = spans.cell('sent')
    this.#lost = spans.cell('lost')
  }

  add(span: Span): void {
    if (this.#waiting.length >= MOST_WAITING || this.#isEnding) {
      this.#lost.value += 1
      return
    }
    this.#waiting.push(span)
    // A collector that does not answer is not asked more often because more spans wait.
    if (this.#waiting.length >= MOST_AT_ONCE && this.#problem === undefined) this.#sendNow()
    else this.#sendLater(EVERY_MS)
  }

  /** Sends waiting spans now, unless the collector is failing. */
  async flush(): Promise<void> {
    await this.#sending
    do await this.#send()
    while (this.#waiting.length > 0 && this.#problem === undefined)
  }

  /** Sends waiting spans, for as long as the time allows. */
  async dispose(): Promise<void> {
    this.#isEnding = true
    this.#cancel?.()
    await atMost(this.#options.clock, END_WITHIN_MS, this.flush())
  }

  #sendLater(delayMs: number): void {
    if (this.#sending || this.#isEnding) return
    this.#cancel ??= this.#options.clock.after(delayMs, () => this.#sendNow())
  }

  #sendNow(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined
      const isMuch = this.#waiting.length >= MOST_AT_ONCE && this.#problem === undefined
      if (this.#waiting.length > 0) this.#sendLater(isMuch ? 0 : EVERY_MS)
    })
  }

  async #send(): Promise<void> {
    const batch = this.#waiting.splice(0, MOST_AT_ONCE)
    if (batch.length === 0) return
    const { post, version } = this.#options
    const why = await post(this.#url, otlpBody(batch, version), SEND_WITHIN_MS)
    if (why === undefined) this.#sent.value += batch.length
    else this.#lost.value += batch.length
    // Logged when the problem begins and when it ends, not for each batch.
    const { log } = this.#options
    const at = this.#url.host
    if (why !== undefined && this.#problem === undefined) log.warn({ at, why }, 'traces cannot be sent; they are lost')
    if (why === undefined && this.#problem !== undefined) log.info({ at }, 'traces are sent again')
    this.#problem = why
  }
}

export function spanCounter(metrics: Metrics) {
  return metrics.counter('flotilla_spans_total', 'Spans of traces, sent to the collector or lost.', ['outcome'])
}

/** OpenTelemetry's convention: the endpoint is a base, to which the path of the signal is added. */
function tracesUrl(endpoint: string): URL {
  const url = new URL(endpoint)
  if (!url.pathname.endsWith('/v1/traces')) url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`
  return url
}
