import type { IncomingMessage } from 'node:http'
import { DASHBOARD_HEADER } from '../../../api/admin/session-names.ts'
import { AppError } from '../../../platform/errors.ts'
import { isFromOtherPage } from '../../../http/server/own-origin.ts'

/**
 * A browser sends the cookie with any request to us, so a call with it must come from our own page. SameSite=Strict
 * already keeps other sites out, but a site is wider than an origin: it spans all ports and names of one domain. DNS
 * rebinding is harmless here: a page that points its own name at us has the cookies of that name, and so none of ours.
 */
export function refuseForgery(request: IncomingMessage): void {
  refuseOtherOrigins(request)
  const { method, headers } = request
  if (method === 'GET' || method === 'HEAD' || headers[DASHBOARD_HEADER] === '1') return
  // A form cannot send it, and a script of another origin may not.
  throw new AppError(
    'forbidden',
    `A call with the cookie of the dashboard must have the header ${DASHBOARD_HEADER}: 1.`,
  )
}

/** For calls that need no cookie yet, but set one. */
export function refuseOtherOrigins(request: IncomingMessage): void {
  if (isFromOtherPage(request)) throw fromElsewhere()
}

function fromElsewhere(): AppError {
  const text =
    "This call comes from another site's page. The dashboard takes calls of its own pages only; a proxy before it must pass on the Host header as it came."
  return new AppError('forbidden', text)
}
