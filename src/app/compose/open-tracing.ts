import type { Config } from '../../cli/config/options.ts'
import { systemClock as clock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import type { Lifetime } from '../../platform/run/lifetime.ts'
import type { Logger } from '../../platform/run/log.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import { OtlpExporter } from '../../platform/tracing/otlp-exporter.ts'
import { Tracer } from '../../platform/tracing/tracer.ts'
import { version } from '../../platform/version.ts'
import { postSpans } from './post-spans.ts'

/** Makes tracers for the roles of this process; undefined, at no cost to requests, unless a collector is configured. */
export function openTracing(
  { otlp_endpoint: endpoint, trace_ratio: ratio }: Pick<Config, 'otlp_endpoint' | 'trace_ratio'>,
  { log, life, metrics }: { log: Logger; life: Lifetime; metrics: Metrics },
): ((role: 'gateway' | 'worker') => Tracer) | undefined {
  if (endpoint === undefined) return undefined
  if (!/^https?:\/\//.test(endpoint) || !URL.canParse(endpoint)) {
    const what = 'expected the address of a collector that takes OTLP over HTTP, such as http://127.0.0.1:4318'
    throw new AppError('usage', `--otlp-endpoint (or OTEL_EXPORTER_OTLP_ENDPOINT): ${what}.`)
  }
  const sink = new OtlpExporter({ endpoint, version, clock, log, metrics, post: postSpans })
  life.own('traces', () => sink.dispose())
  return (role) => new Tracer({ sink, service: `flotilla-${role}`, ratio, random: Math.random })
}
