import { randomBytes } from 'node:crypto'

/** A position in a trace, as W3C's `traceparent` carries it. Ids are lower-case hexadecimal. */
export interface TraceContext {
  traceId: string
  spanId: string
  isSampled: boolean
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** Undefined for a missing or invalid header: a new trace then begins here, as the standard asks. */
export function parseTraceparent(header: unknown): TraceContext | undefined {
  const match = typeof header === 'string' ? TRACEPARENT.exec(header.trim()) : null
  if (!match) return undefined
  const [, version, traceId, spanId, flags, more] = match as unknown as [
    string,
    string,
    string,
    string,
    string,
    string?,
  ]
  // Later versions may append fields; version 00 has none, and ff is invalid.
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

export function formatTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
}

export function newTraceId(): string {
  return randomBytes(16).toString('hex')
}

export function newSpanId(): string {
  return randomBytes(8).toString('hex')
}
