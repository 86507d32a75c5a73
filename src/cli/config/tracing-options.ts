import type { Option } from './option.ts'
import { share, text } from './option-types.ts'

/** Where traces go. */
export const tracingOptions = {
  otlp_endpoint: {
    // Checked by the tracer: the standard's variable may hold an address for another protocol, which matters to no
    // other command.
    type: text,
    value: 'url',
    help: 'OpenTelemetry collector for traces of requests (OTLP over HTTP, as JSON), such as http://127.0.0.1:4318; without it tracing is off',
    default: () => undefined,
    alias: 'OTEL_EXPORTER_OTLP_ENDPOINT',
  },
  trace_ratio: {
    type: share,
    value: '0..1',
    help: 'Share of requests that are traced, if they have no traceparent header; otherwise the header decides',
    default: () => '1',
  },
} as const satisfies Record<string, Option<unknown>>
