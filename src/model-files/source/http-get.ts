import type { IncomingHttpHeaders, IncomingMessage, RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { clientRequest, type ClientOptions } from '../../http/client/client-request.ts'
import { AppError } from '../../platform/errors.ts'
import { request as httpRequest } from '../../http/server/node-http.ts'
import type { Trust } from '../../platform/tls/trust.ts'
import { internetOnly, type Reach } from './reach.ts'

export interface HttpGet {
  url: URL
  method?: 'GET' | 'HEAD'
  /** Sent to every host on the way. */
  headers?: Record<string, string>
  /** Sent to the URL's own host, and never again once a redirect has led away from it. */
  credentials?: Record<string, string>
  /** Answers with the redirect itself when that leads to another host. */
  stayOnHost?: boolean
  /** How the URL's own host is recognised; others by the CAs that there are. */
  trust?: Trust | undefined
  /** Where it may lead, and where every redirect may lead. */
  reach?: Reach | undefined
  /** Whoever runs this machine has named the URL's own host, and no source has: it may be anywhere. */
  isOurs?: boolean | undefined
  signal: AbortSignal
}

export interface HttpAnswer {
  status: number
  headers: IncomingHttpHeaders
  /** To be read or destroyed by the caller. */
  body: IncomingMessage
  /** Where the answer came from, after redirects. */
  url: URL
}

const MOST_REDIRECTS = 10

/**
 * One GET, with redirects followed. Rejects with an AppError for a redirect that must not be followed and with the
 * connection's own error otherwise; what the status means is the caller's business.
 */
export async function httpGet({
  url,
  method = 'GET',
  headers,
  credentials,
  stayOnHost,
  trust,
  reach = internetOnly,
  isOurs = false,
  signal,
}: HttpGet): Promise<HttpAnswer> {
  let at = url
  let secret: Record<string, string> = { ...basicAuth(url), ...credentials }
  for (let hops = 0; hops <= MOST_REDIRECTS; hops += 1) {
    const isHome = at.host === url.host
    const all = { 'accept-encoding': 'identity', ...headers, ...secret }
    const how = { trust: isHome ? trust : undefined, reach: isOurs && isHome ? undefined : reach }
    const body = await ask(at, { method, headers: all, signal }, how)
    const answer = { status: body.statusCode ?? 0, headers: body.headers, body, url: at }
    const next = redirectOf(answer)
    if (!next || (stayOnHost && next.host !== url.host)) return answer
    body.destroy()
    if (next.host !== at.host) secret = {}
    at = next
  }
  throw new AppError('bad_gateway', `${showUrl(url)} was redirected more than ${MOST_REDIRECTS} times.`)
}

/** Host and path: a query may hold a signature, and a user a password. */
export function showUrl(url: URL): string {
  return `${url.host}${url.pathname}`
}

function basicAuth({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {}
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

function ask(
  url: URL,
  options: ClientOptions,
  { trust, reach }: { trust: Trust | undefined; reach: Reach | undefined },
): Promise<IncomingMessage> {
  reach?.checkHost(url.hostname)
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    // Without user and password: they are among the headers, for as long as they may be sent.
    const bare = new URL(url)
    bare.username = ''
    bare.password = ''
    const outgoing = trust ? clientRequest(bare, options, trust) : request(bare, { ...options, ...reachOf(reach) })
    outgoing.once('response', (answer) => {
      // An answer that breaks off while nobody reads it yet is told to whoever reads it next.
      answer.on('error', () => {})
      resolve(answer)
    })
    outgoing.on('error', reject)
    outgoing.end()
  })
}

/** On a connection of its own: one that somebody else has opened was not looked at. */
function reachOf(reach: Reach | undefined): Pick<RequestOptions, 'lookup' | 'agent'> {
  return reach ? { lookup: reach.lookup, agent: false } : {}
}

function redirectOf({ status, headers, url }: HttpAnswer): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(status) || headers.location === undefined) return undefined
  const next = URL.parse(headers.location, url.href)
  if (!next || !/^https?:$/.test(next.protocol)) {
    throw new AppError('bad_gateway', `${showUrl(url)} was redirected to something that is not a web address.`)
  }
  if (url.protocol === 'https:' && next.protocol === 'http:') {
    const why = 'the connection would no longer be encrypted'
    throw new AppError('bad_gateway', `${showUrl(url)} was redirected to http://${next.host}: not followed, ${why}.`)
  }
  return next
}
