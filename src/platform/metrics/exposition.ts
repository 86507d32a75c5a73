import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Family, FamilySource, Point } from './metrics.ts'

/** Sends the metrics in the format that the client prefers: OpenMetrics, or Prometheus's older text format. */
export function sendMetrics(
  metrics: FamilySource,
  request: Pick<IncomingMessage, 'headers' | 'method'>,
  response: ServerResponse,
): void {
  const isOpen = prefersOpenMetrics(request.headers.accept)
  const text = isOpen ? openMetricsText(metrics) : prometheusText(metrics)
  response.writeHead(200, {
    'content-type': isOpen ? OPEN_METRICS_TYPE : 'text/plain; version=0.0.4; charset=utf-8',
    'content-length': Buffer.byteLength(text),
  })
  response.end(request.method === 'HEAD' ? undefined : text)
}

const OPEN_METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

/**
 * True only if the client names OpenMetrics and does not prefer the older format: a browser that accepts anything can
 * read either.
 */
export function prefersOpenMetrics(accept: string | undefined): boolean {
  let open = 0
  let plain = 0
  for (const part of (accept ?? '').split(',')) {
    const [type, ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    const weight = Number(parameters.find((text) => text.startsWith('q='))?.slice(2) ?? 1)
    if (type === 'application/openmetrics-text') open = Math.max(open, weight)
    if (type === 'text/plain') plain = Math.max(plain, weight)
  }
  return open > 0 && open >= plain
}

/** Version 0.0.4 of the text format. */
export function prometheusText(metrics: FamilySource): string {
  const lines: string[] = []
  for (const family of metrics.families()) {
    const { name, help, type } = family
    lines.push(`# HELP ${name} ${escapedHelp(help)}`, `# TYPE ${name} ${type}`)
    for (const point of family.points()) lines.push(line(family, point, String))
  }
  return `${lines.join('\n')}\n`
}

/**
 * In OpenMetrics, counter families have no `_total` in their names, units are declared, and whole bounds are written as
 * `1.0`.
 */
export function openMetricsText(metrics: FamilySource): string {
  const lines: string[] = []
  for (const family of metrics.families()) {
    const { type } = family
    const name = type === 'counter' ? family.name.replace(/_total$/, '') : family.name
    const unit = UNITS.find((text) => name.endsWith(`_${text}`))
    lines.push(`# TYPE ${name} ${type}`)
    if (unit) lines.push(`# UNIT ${name} ${unit}`)
    lines.push(`# HELP ${name} ${escapedHelp(family.help).replaceAll('"', '\\"')}`)
    for (const point of family.points()) lines.push(line(family, point, floatText))
  }
  return `${lines.join('\n')}\n# EOF\n`
}

const UNITS = ['seconds', 'bytes', 'ratio']

function line(
  { name, labelNames }: Family,
  { suffix, labels, le, value }: Point,
  bound: (le: number) => string,
): string {
  let pairs = labelNames.map((label, i) => `${label}="${escaped(labels[i] ?? '')}"`).join(',')
  if (le !== undefined)
    pairs += `${pairs === '' ? '' : ','}le="${le === Number.POSITIVE_INFINITY ? '+Inf' : bound(le)}"`
  return `${name}${suffix}${pairs === '' ? '' : `{${pairs}}`} ${numberText(value)}`
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
}

function floatText(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value)
}

function escapedHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function escaped(text: string): string {
  return escapedHelp(text).replaceAll('"', '\\"')
}
