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
  /** Sent to every host, including redirects. */
  headers?: Record<string, string>
  /** Sent to the URL's own host only, and never again once a redirect has led to another one. */
  credentials?: Record<string, string>
  /** Returns the redirect itself if it leads to another host. */
  stayOnHost?: boolean
  /** How to verify the URL's own host; other hosts are verified by the system's CAs. */
  trust?: Trust | undefined
  /** Limits the URL and every redirect. */
  reach?: Reach | undefined
  /** The operator of this machine has named the host, not a source: it may have any address. */
  isOurs?: boolean | undefined
  signal: AbortSignal
}

export interface HttpAnswer {
  status: number
  headers: IncomingHttpHeaders
  /** The caller must read or destroy it. */
  body: IncomingMessage
  /** The final URL, after redirects. */
  url: URL
}

const MOST_REDIRECTS = 10

/**
 * One GET that follows redirects. Rejects with an AppError for a forbidden redirect, and with the connection's own
 * error otherwise; the caller interprets the status.
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

/** Host and path only: the query may contain a signature, and the user part a password. */
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
    // Without user and password: those are sent as a header, and only as long as that is allowed.
    const bare = new URL(url)
    bare.username = ''
    bare.password = ''
    const outgoing = trust ? clientRequest(bare, options, trust) : request(bare, { ...options, ...reachOf(reach) })
    outgoing.once('response', (answer) => {
      // If the answer breaks off before it is read, the later reader gets the error.
      answer.on('error', () => {})
      resolve(answer)
    })
    outgoing.on('error', reject)
    outgoing.end()
  })
}

/** Uses a new connection: the address of a pooled one has not been checked. */
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
