import type { IncomingMessage } from 'node:http'
import { AppError } from '../../platform/errors.ts'

/**
 * After which event a reader wants to go on. A browser that reconnects says so in a header, which is newer than the URL
 * it was opened with. Undefined: only what happens from now on.
 */
export function firstEventOf(request: IncomingMessage): number | undefined {
  const header = request.headers['last-event-id']
  const asked = typeof header === 'string' && header !== '' ? header : queryOf(request).get('after')
  if (asked === null) return undefined
  if (/^\d{1,15}$/.test(asked)) return Number(asked)
  throw new AppError('bad_request', 'after: the number of an event was expected.', { details: { param: 'after' } })
}

function queryOf(request: IncomingMessage): URLSearchParams {
  return new URLSearchParams((request.url ?? '').split('?')[1] ?? '')
}
