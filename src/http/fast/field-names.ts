/** A header's name as it was sent, and in lower case. */
export interface FieldName {
  readonly raw: string
  readonly lower: string
}

/**
 * The name in `bytes` from `start` to `end`, whose bytes have this `hash`. Common names make no new string: their bytes are
 * compared with a table.
 */
export function fieldName(bytes: Uint8Array, start: number, end: number, hash: number): FieldName {
  const known = TABLE[hash & (SLOTS - 1)]
  if (known !== undefined && isAt(bytes, start, end, known.bytes)) return known
  let raw = ''
  for (let i = start; i < end; i += 1) raw += String.fromCharCode(bytes[i]!)
  return { raw, lower: raw.toLowerCase() }
}

/** The name in lower case; makes no new string for a common name. */
export function lowerCase(name: string): string {
  return LOWER.get(name) ?? name.toLowerCase()
}

/** Adds one byte to the hash of a name, which begins with 0. */
export function hashByte(hash: number, byte: number): number {
  return (Math.imul(hash, 31) + byte) | 0
}

interface KnownName extends FieldName {
  readonly bytes: Uint8Array
}

/** Names that clients, engines and workers send; each is known in lower case and With-Capitals. */
const NAMES = [
  'accept',
  'accept-encoding',
  'accept-language',
  'access-control-allow-origin',
  'authorization',
  'cache-control',
  'connection',
  'content-length',
  'content-type',
  'date',
  'etag',
  'host',
  'keep-alive',
  'openai-organization',
  'origin',
  'referer',
  'server',
  'sec-fetch-mode',
  'transfer-encoding',
  'user-agent',
  'vary',
  'x-accel-buffering',
  'x-api-key',
  'x-flotilla-model',
  'x-flotilla-refusal',
  'x-forwarded-for',
  'x-request-id',
  'x-session-id',
  'x-stainless-arch',
  'x-stainless-lang',
  'x-stainless-os',
  'x-stainless-package-version',
  'x-stainless-retry-count',
  'x-stainless-runtime',
  'x-stainless-runtime-version',
  'x-stainless-timeout',
]

/** Many more slots than names, so that few names collide. A name whose slot is taken is merely slower to read. */
const SLOTS = 1024
const TABLE: (KnownName | undefined)[] = Array.from({ length: SLOTS }, () => undefined)
const LOWER = new Map<string, string>()
for (const lower of NAMES) {
  for (const raw of [lower, lower.replaceAll(/(^|-)[a-z]/g, (start) => start.toUpperCase())]) {
    const bytes = new Uint8Array(Buffer.from(raw, 'latin1'))
    LOWER.set(raw, lower)
    TABLE[bytes.reduce(hashByte, 0) & (SLOTS - 1)] ??= { raw, lower, bytes }
  }
}

function isAt(bytes: Uint8Array, start: number, end: number, name: Uint8Array): boolean {
  if (end - start !== name.length) return false
  for (let i = 0; i < name.length; i += 1) if (bytes[start + i] !== name[i]) return false
  return true
}
