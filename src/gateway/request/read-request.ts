import { jsonFields, type Span } from '../../core/lib/json-fields.ts'
import type { BodyRoom } from '../../http/server/body-budget.ts'
import { AppError } from '../../platform/errors.ts'
import type { HttpRequest } from '../../http/exchange.ts'
import { parseJson, pathOf, readBody } from '../../http/server.ts'
import { MOST_BODY_BYTES, type ReadLimits } from '../access/body-room.ts'
import { misspelt } from './api-paths.ts'
import { boundaryOf, formFields } from './form-fields.ts'

export interface ReadRequest {
  /** The bytes as received. */
  body: Buffer
  model: string
  isStream: boolean
  /** Requests of one session have the same: `X-Session-Id`, else the field `user`, else Anthropic's `metadata.user_id`. */
  sessionKey: string | undefined
}

/** The fields of a body that decide where it goes, not yet checked. */
interface Fields {
  model?: unknown
  stream?: unknown
  user?: unknown
  metadata?: unknown
}

/** JSON up to this length is parsed, for exact errors (about 2 ms); longer bodies are only searched for the fields. */
const MOST_PARSED_BYTES = 256 * 1024
/** No model name is longer; a longer `user` is cut to this length. */
const MOST_NAME_CHARS = 1024
/** A value of more bytes than this has more characters than any name may have. */
const MOST_VALUE_BYTES = 16 * 1024

/** Reads a request for a model: its body, and where to send it. Throws a 4xx that says what is wrong with it. */
export function readRequest(
  request: HttpRequest,
  limits: Partial<ReadLimits> = {},
  room?: BodyRoom,
): ReadRequest | Promise<ReadRequest> {
  refuseCompressed(request)
  const mostBytes = limits.mostBodyBytes ?? MOST_BODY_BYTES
  const { whole } = request
  if (!whole || whole.length > mostBytes) {
    return readBody(request, mostBytes, { room }).then((body) => readWhole(request, body))
  }
  room?.grow(whole.length)
  room?.settle()
  return readWhole(request, whole)
}

/** Only a long body is searched with pauses: an unneeded promise costs more than parsing a short one. */
function readWhole(request: HttpRequest, body: Buffer): ReadRequest | Promise<ReadRequest> {
  const found = fieldsOf(request, body)
  if (found instanceof Promise) return found.then((fields) => readFields(request, body, fields))
  return readFields(request, body, found)
}

function readFields(request: HttpRequest, body: Buffer, fields: Fields): ReadRequest {
  return {
    body,
    model: modelOf(request, fields),
    isStream: isTrue(fields.stream),
    sessionKey: sessionOf(request, fields),
  }
}

/** The `model` of the query string. */
export function modelInQuery(request: HttpRequest): string | undefined {
  const query = (request.url ?? '').split('?', 2)[1]
  if (query === undefined) return undefined
  return checkedModel(new URLSearchParams(query).get('model') ?? undefined)
}

/** `X-Session-Id`, for a request without a body to look into. */
export function sessionInHeader({ headers }: HttpRequest): string | undefined {
  return sessionText(headers['x-session-id'])
}

function refuseCompressed({ headers }: HttpRequest): void {
  const coding = headers['content-encoding']?.trim().toLowerCase()
  if (coding === undefined || coding === '' || coding === 'identity') return
  const text = `Content-Encoding "${coding}" is not supported: send the body without compression.`
  throw new AppError('unsupported_media_type', text)
}

function fieldsOf(request: HttpRequest, body: Buffer): Fields | Promise<Fields> {
  const type = request.headers['content-type'] ?? ''
  if (/^\s*multipart\//i.test(type)) {
    return withPauses(formFields(body, boundaryOf(type), ['model', 'stream', 'user'])).then(Object.fromEntries<string>)
  }
  // Clients often send a wrong type, so a body that begins like JSON is read as JSON.
  if (isJsonType(type) || startsAsObject(body)) return jsonFieldsOf(body)
  if (modelInQuery(request) !== undefined) return {}
  if (body.length === 0) throw missing('The request has no body.')
  const text = `A body of type "${type.slice(0, 100)}" does not say which model it is for. Send JSON with Content-Type: application/json, or a form (multipart/form-data) with the field "model", or add ?model=<name> to the address.`
  throw new AppError('unsupported_media_type', text, { details: { param: 'model' } })
}

export function isJsonType(type: string): boolean {
  return /^\s*(?:application|text)\/(?:[\w.-]+\+)?json\b/i.test(type)
}

function startsAsObject(body: Buffer): boolean {
  return /^(?:\u00ef\u00bb\u00bf)?\s*\{/.test(body.toString('latin1', 0, 100))
}

function jsonFieldsOf(body: Buffer): Fields | Promise<Fields> {
  if (body.length > MOST_PARSED_BYTES) return longJsonFieldsOf(body)
  const parsed = parseJson(body)
  return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? parsed : {}
}

async function longJsonFieldsOf(body: Buffer): Promise<Fields> {
  const found = await withPauses(jsonFields(body, ['model', 'stream', 'user', 'metadata']))
  if (!found) {
    const text = `The request body (${body.length} bytes) is not a complete JSON object. Check that nothing was cut off.`
    throw new AppError('bad_request', text)
  }
  const spanOf = (name: string): Span | undefined => found.get(name)?.at(-1)
  const metadata = spanOf('metadata')
  const inside = metadata && body.subarray(...metadata)
  const userId = inside && (await withPauses(jsonFields(inside, ['user_id'])))?.get('user_id')?.at(-1)
  const fields: Fields = { metadata: { user_id: userId && valueAt(inside, userId) } }
  for (const name of ['model', 'stream', 'user'] as const) {
    const span = spanOf(name)
    if (span) fields[name] = valueAt(body, span)
  }
  return fields
}

/** The value; null when it is too long or invalid. */
function valueAt(body: Buffer, [start, end]: Span): unknown {
  if (end - start > MOST_VALUE_BYTES) return null
  try {
    return JSON.parse(body.toString('utf8', start, end)) as unknown
  } catch {
    return null
  }
}

/** Runs the scan, and lets other work run at each pause. */
async function withPauses<T>(scan: Generator<void, T>): Promise<T> {
  for (;;) {
    const step = scan.next()
    if (step.done) return step.value
    await new Promise((resolve) => setImmediate(resolve))
  }
}

function modelOf(request: HttpRequest, fields: Fields): string {
  const model = checkedModel(fields.model) ?? modelInQuery(request)
  if (model === undefined) throw misspelt(pathOf(request)) ?? missing('The request does not say which model it is for.')
  return model
}

function checkedModel(model: unknown): string | undefined {
  if (model === undefined) return undefined
  if (typeof model === 'string' && model !== '' && model.length <= MOST_NAME_CHARS) return model
  const text = '"model" must be the name of a model, as a string that is not empty. GET /v1/models lists the names.'
  throw new AppError('bad_request', text, { details: { param: 'model' } })
}

function missing(what: string): AppError {
  const text = `${what} Add "model": the name of a model, as in {"model": "<name>", …}. GET /v1/models lists the names.`
  return new AppError('bad_request', text, { details: { param: 'model' } })
}

/** In a form everything is text. */
function isTrue(value: unknown): boolean {
  return value === true || value === 'true' || value === '1'
}

function sessionOf(request: HttpRequest, { user, metadata }: Fields): string | undefined {
  const userId =
    typeof metadata === 'object' && metadata !== null && 'user_id' in metadata ? metadata.user_id : undefined
  return sessionInHeader(request) ?? sessionText(user) ?? sessionText(userId)
}

function sessionText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, MOST_NAME_CHARS) : undefined
}
