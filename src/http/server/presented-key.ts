import { AppError } from '../../platform/errors.ts'
import type { HttpRequest } from '../exchange.ts'

/**
 * The token of `Authorization: Bearer <token>`; undefined where no token is shown. What another reader, such as a proxy
 * in front of us, could read in another way is refused instead of guessed at.
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

/** A key in a URL ends up in histories and in the logs of everything on the way, so none is taken from there. */
export function refuseKeyInUrl(request: HttpRequest): void {
  const url = request.url ?? ''
  const start = url.indexOf('?')
  if (start === -1) return
  for (const [name, value] of new URLSearchParams(url.slice(start + 1))) {
    if (!KEY_NAMES.has(name.toLowerCase()) && !looksLikeOurs(value)) continue
    const text =
      'A key does not belong into the URL, where logs keep it. Send it as Authorization: Bearer <key>, ' +
      'and replace this one if others may have seen it.'
    throw new AppError('bad_request', text)
  }
}

/** As our keys and tokens begin, in whatever letters. */
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

/** Longer than any key that is made; a limit on what is hashed for strangers. */
const MOST_KEY_CHARACTERS = 500

/** Printable ASCII: bytes beyond it would be one text here and another where they are read as UTF-8. */
function isKeyText(text: string): boolean {
  return text.length <= MOST_KEY_CHARACTERS && /^[\x21-\x7e]+$/.test(text)
}

/** Node keeps the first of several `authorization` headers and says nothing of the others. */
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
