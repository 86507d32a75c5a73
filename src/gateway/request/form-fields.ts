import { AppError } from '../../platform/errors.ts'

/** Limits far above real forms, which have a few parts, each with a short head. */
const MOST_PARTS = 1000
const MOST_HEAD_BYTES = 16 * 1024
/** Longer fields are ignored: none of the wanted ones is so long. */
const MOST_FIELD_BYTES = 4096
/** Bytes searched between two pauses: a few milliseconds at most. */
const WINDOW_BYTES = 4 * 1024 * 1024

/**
 * The named fields of a multipart/form-data body. Files are skipped. It yields now and then, because a file can have many
 * megabytes.
 */
export function* formFields(
  body: Buffer,
  boundary: string,
  names: readonly string[],
): Generator<void, Map<string, string>> {
  const found = new Map<string, string>()
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  const startsAtOnce = body.subarray(0, delimiter.length - 2).equals(delimiter.subarray(2))
  let at = startsAtOnce ? delimiter.length - 2 : (yield* find(body, delimiter, 0)) + delimiter.length
  for (let parts = 0; ; parts += 1) {
    if (parts > MOST_PARTS) throw new AppError('bad_request', `The form has more than ${MOST_PARTS} parts.`)
    if (body.toString('latin1', at, at + 2) === '--') return found
    const head = body.subarray(at, at + MOST_HEAD_BYTES)
    const headEnd = head.indexOf('\r\n\r\n')
    if (headEnd === -1) throw cut()
    const start = at + headEnd + 4
    const end = yield* find(body, delimiter, start)
    const name = fieldName(head.toString('utf8', 0, headEnd))
    if (name !== undefined && names.includes(name) && end - start <= MOST_FIELD_BYTES) {
      found.set(name, body.toString('utf8', start, end))
    }
    at = end + delimiter.length
  }
}

/** The boundary that a Content-Type names. */
export function boundaryOf(contentType: string): string {
  const match = /;\s*boundary\s*=\s*(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i.exec(contentType)
  const boundary = match?.[1] ?? match?.[2]
  if (boundary !== undefined) return boundary
  const text = 'Content-Type: multipart/form-data has no boundary. Let the HTTP library set this header by itself.'
  throw new AppError('bad_request', text)
}

function* find(body: Buffer, delimiter: Buffer, from: number): Generator<void, number> {
  for (let at = from; at < body.length; at += WINDOW_BYTES) {
    const found = body.subarray(at, at + WINDOW_BYTES + delimiter.length - 1).indexOf(delimiter)
    if (found !== -1) return at + found
    yield
  }
  throw cut()
}

function cut(): AppError {
  const text =
    'The form does not end with the boundary that Content-Type names: it was cut, or the header belongs to another body.'
  return new AppError('bad_request', text)
}

/** Undefined for a file. */
function fieldName(head: string): string | undefined {
  const disposition = /^content-disposition:[ \t]*form-data(.*)$/im.exec(head)?.[1] ?? ''
  let name: string | undefined
  for (const [, key, quoted, bare] of disposition.matchAll(/;\s*([^=;\s]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]*))/g)) {
    if (/^filename\*?$/i.test(key!)) return undefined
    if (key!.toLowerCase() === 'name') name = quoted ?? bare
  }
  return name
}
