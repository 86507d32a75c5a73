import { AppError } from '../../platform/errors.ts'
import type { HttpRequest } from '../exchange.ts'

/**
 * The token of `Authorization: Bearer <token>`; undefined when there is none. Headers that another reader, such as a proxy
 * in front of Flotilla, could read differently are refused.
 */
export function shownBearer(request: HttpRequest): string | undefined {
  if (timesSent(request, 'authorization') > 1) throw sentTwice('Authorization')
  const value = request.headers.authorization
  if (value === undefined || /^Bearer *$/i.test(value)) return undefined
  const token = /^Bearer +(\S+) *$/i.exec(value)?.[1]
  if (token !== undefined && isKeyText(token)) return token
  throw new AppError('unauthorized', 'The Authorization header must be: Bearer <key>.')
}

/** The same, or the key in `x-api-key`, where clients of the Anthropic API put it. */
export function shownKey(request: HttpRequest): string | undefined {
  const bearer = shownBearer(request)
  const header = request.headers['x-api-key']
  if (header === undefined || header === '') return bearer
  if (timesSent(request, 'x-api-key') > 1) throw sentTwice('x-api-key')
  if (typeof header !== 'string' || !isKeyText(header)) {
    throw new AppError('unauthorized', 'The x-api-key header must hold a key and nothing else.')
  }
  if (bearer === undefined || bearer === header) return header
  throw new AppError('bad_request', 'Authorization and x-api-key hold different keys. Send one of them.')
}

/** A key in a URL ends up in browser histories and in the logs of proxies, so a URL with a key is refused. */
export function refuseKeyInUrl(request: HttpRequest): void {
  const url = request.url ?? ''
  const start = url.indexOf('?')
  if (start === -1) return
  for (const [name, value] of new URLSearchParams(url.slice(start + 1))) {
    if (!KEY_NAMES.has(name.toLowerCase()) && !looksLikeOurs(value)) continue
    const text =
      'A key does not belong in the URL, where logs keep it. Send it as Authorization: Bearer <key>, ' +
      'and replace this one if others may have seen it.'
    throw new AppError('bad_request', text)
  }
}

/** Whether it begins like Flotilla's keys and tokens, in upper or lower case. */
export function looksLikeOurs(text: string): boolean {
  return /^(fk|fla|flj)_/i.test(text)
}

const KEY_NAMES = new Set([
  'key',
  'api_key',
  'api-key',
  'apikey',
  'x-api-key',
  'access_token',
  'token',
  'authorization',
])

/** Longer than any key; limits what is hashed for unknown clients. */
const MOST_KEY_CHARACTERS = 500

/** Printable ASCII: other bytes would be one text in latin1 and another in UTF-8. */
function isKeyText(text: string): boolean {
  return text.length <= MOST_KEY_CHARACTERS && /^[\x21-\x7e]+$/.test(text)
}

/** Counts in the raw headers, because Node silently keeps only the first of several `authorization` headers. */
export function timesSent({ rawHeaders }: HttpRequest, name: string): number {
  let times = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const sent = rawHeaders[i]!
    if (sent.length === name.length && sent.toLowerCase() === name) times += 1
  }
  return times
}

function sentTwice(name: string): AppError {
  return new AppError('bad_request', `The ${name} header was sent more than once. Send it once.`)
}
