import type { HttpRequest } from '../exchange.ts'

type Head = Pick<HttpRequest, 'headers'>

/**
 * Whether a browser sends this for a page that did not come from this listener: another site, another port of this machine,
 * or a page without an origin. Other programs send neither header.
 */
export function isFromOtherPage({ headers }: Head): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true
  return headers.origin !== undefined && !isOwnOrigin(headers.origin, headers.host)
}

/** Default ports are made explicit by the scheme of the page, because a proxy may add TLS. */
function isOwnOrigin(origin: string, host: string | undefined): boolean {
  if (host === undefined || !URL.canParse(origin)) return false
  const page = new URL(origin)
  const here = `${page.protocol}//${host}`
  return URL.canParse(here) && new URL(here).host === page.host && page.host !== ''
}
