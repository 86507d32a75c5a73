import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import { SESSION_COOKIE } from '../../../api/admin/session-names.ts'

/** How long a session lasts. */
export const SESSION_LIFE_MS = 12 * 3_600_000

/** What the cookie of a request holds; undefined without one. Browsers do not tell ports apart: it may be another's. */
export function shownSession({ headers }: IncomingMessage): string | undefined {
  for (const pair of (headers.cookie ?? '').split(';')) {
    const at = pair.indexOf('=')
    if (at !== -1 && pair.slice(0, at).trim() === SESSION_COOKIE) return pair.slice(at + 1).trim() || undefined
  }
  return undefined
}

/** The value of `Set-Cookie` that hands a session out: no script reads it, and no other site's page sends it. */
export function sessionCookie(request: IncomingMessage, token: string): string {
  return cookie(request, token, SESSION_LIFE_MS / 1000)
}

/** The one that takes it back. */
export function endedCookie(request: IncomingMessage): string {
  return cookie(request, '', 0)
}

function cookie(request: IncomingMessage, value: string, maxAgeS: number): string {
  const secure = cameOverTls(request) ? '; Secure' : ''
  return `${SESSION_COOKIE}=${value}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Strict${secure}`
}

/** Over TLS to us, or to a proxy before us, as the page's origin says. A client that forges its origin only harms itself. */
function cameOverTls({ socket, headers }: IncomingMessage): boolean {
  return socket instanceof TLSSocket || headers.origin?.startsWith('https://') === true
}
