import type { HttpRequest } from '../exchange.ts'

type Head = Pick<HttpRequest, 'headers'>

/**
 * Whether a browser sends this for a page that did not come from this very listener: another site, another port of this
 * machine, or a page without an origin. Programs send neither header.
 */
export function isFromOtherPage({ headers }: Head): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true
  return headers.origin !== undefined && !isOwnOrigin(headers.origin, headers.host)
}

/** Ports that go without saying are compared as if they were said, by the scheme of the page: a proxy may add TLS. */
function isOwnOrigin(origin: string, host: string | undefined): boolean {
  if (host === undefined || !URL.canParse(origin)) return false
  const page = new URL(origin)
  const here = `${page.protocol}//${host}`
  return URL.canParse(here) && new URL(here).host === page.host && page.host !== ''
}
