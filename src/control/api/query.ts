import type { IncomingMessage } from 'node:http'
import type { z } from 'zod'
import { AppError } from '../../platform/errors.ts'
import { problemParam, problemText } from '../../platform/problem-text.ts'

/**
 * What stands after the `?`; without a value as if it were not there. A browser that reconnects to server-sent events
 * says in a header what it has seen last, which is newer than the `after` of the URL it was opened with.
 */
export function readQuery<T extends z.ZodType>(request: IncomingMessage, schema: T): z.infer<T> {
  const { url = '' } = request
  const given = new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?') + 1) : '')
  const lastSeen = request.headers['last-event-id']
  if (typeof lastSeen === 'string' && lastSeen !== '') given.set('after', lastSeen)
  const result = schema.safeParse(Object.fromEntries([...given].filter(([, value]) => value !== '')))
  if (result.success) return result.data
  const { issues } = result.error
  throw new AppError('bad_request', `${problemText(issues, 'the query')}.`, {
    details: { param: problemParam(issues) },
  })
}
