import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { adminRoutes } from '../../src/api/admin/routes.ts'
import { readRange } from '../../src/control/api/nouns/models/byte-range.ts'
import { refuseForgery } from '../../src/control/api/access/csrf.ts'
import { readQuery } from '../../src/control/api/query.ts'
import { shownSession } from '../../src/control/api/access/session-cookie.ts'
import { allowInference } from '../../src/gateway/access/guard.ts'
import { requestIdOf } from '../../src/gateway/request/request-id.ts'
import { hostAndPort } from '../../src/platform/address.ts'
import type { HttpRequest } from '../../src/http/exchange.ts'
import { matchRoute } from '../../src/http/server/match-route.ts'
import { hashSecret } from '../../src/platform/secrets.ts'
import { findTarget } from '../../src/worker/data-port/target.ts'
import { spoiled } from '../spoil.ts'
import { insist, mayRefuse, type FuzzTarget } from '../target.ts'

const KEY = 'fk_known'
const guard = {
  keys: {
    hasSnapshot: () => true,
    keyByHash: (hash: string) =>
      hash === hashSecret(KEY)
        ? { id: 'k', key_hash: hash, scopes: ['inference' as const], models: null, expires_at: null }
        : undefined,
  },
  clock: { nowMs: () => 0 },
  localInference: true,
}
const routes = Object.values(adminRoutes)

export const headerTargets: readonly FuzzTarget[] = [
  {
    name: 'key-headers',
    reads: 'Authorization, x-api-key, Host, Origin and signs of proxies, at a gateway',
    cases: spoiled(
      [
        'authorization: Bearer fk_wrong\nhost: a',
        'x-api-key: fk_x\norigin: http://evil',
        'host: 127.0.0.1.evil.com:80',
      ],
      ['Bearer ', 'authorization: ', 'x-api-key: ', 'host: ', 'origin: ', 'via: ', 'localhost', '[::1]'],
    ),
    read(bytes) {
      const { headers } = requestOf(bytes)
      const caller = mayRefuse(() => allowInference(requestOf(bytes, '203.0.113.9'), guard))
      const hasKey = [headers.authorization, headers['x-api-key']].some((text) => text?.includes(KEY))
      insist(caller === undefined || hasKey, 'somebody elsewhere was let in without a key')
    },
  },
  {
    name: 'cookies',
    reads: 'the cookie of the dashboard',
    cases: spoiled(
      ['cookie: flotilla_session=abc; a=b', 'cookie: a; b=; =c; flotilla_session='],
      ['cookie: ', '=', ';'],
    ),
    read: (bytes) => void shownSession(requestOf(bytes) as unknown as IncomingMessage),
  },
  {
    name: 'origins',
    reads: 'Host, Origin and Sec-Fetch-Site of a call with the cookie',
    cases: spoiled(
      ['host: a:8080\norigin: http://evil:8080', 'host: a\norigin: https://a.evil', 'origin: null\nhost: null'],
      ['host: ', 'origin: ', 'sec-fetch-site: ', 'http://', '://', '@', '#', '[::1]', 'xn--'],
    ),
    read(bytes) {
      const request = requestOf(bytes) as unknown as IncomingMessage
      const { origin, host } = request.headers
      const isLetIn = mayRefuse(() => (refuseForgery(request), true)) ?? false
      if (!isLetIn || origin === undefined) return
      insist(
        host !== undefined && new URL(origin).host === new URL(`${new URL(origin).protocol}//${host}`).host,
        'a foreign origin',
      )
    },
  },
  {
    name: 'paths',
    reads: 'the path of a request: routes of the admin API, replicas of the data port, host:port',
    cases: spoiled(
      ['/api/nodes/n1/labels', '/replicas/r1/1/v1/x', '/api/node/n/files/a%2Fb', '[::1]:80', 'host:65535'],
      ['/api/', '/replicas/', '%2F', '%', '//', ':', '[', ']'],
    ),
    read(bytes) {
      const text = bytes.toString('latin1')
      const match = matchRoute(routes, 'GET', text)
      if ('route' in match) insist(!Object.values(match.params).includes(''), 'an empty parameter')
      mayRefuse(() => findTarget({ url: text, headers: {} } as HttpRequest, { find: () => undefined }))
      const address = hostAndPort(text, 80)
      insist(!address || (address.port >= 0 && address.port <= 65_535 && address.host !== ''), 'no address')
    },
  },
  {
    name: 'queries',
    reads: 'what stands after the ? of admin calls, ranges of files, ids of requests',
    cases: spoiled(
      ['after=3&limit=10', 'bytes=0-5', 'bytes=-5', 'before=1&node_id=a'],
      ['after=', 'bytes=', '&', '-', '%'],
    ),
    read(bytes) {
      const text = bytes.toString('latin1')
      const headers = { 'last-event-id': text, 'x-request-id': text }
      const request = { url: `/x?${text}`, headers } as unknown as IncomingMessage
      for (const route of routes) if ('query' in route) mayRefuse(() => readQuery(request, route.query))
      const range = readRange(text, 100)
      insist(typeof range !== 'object' || (range.first <= range.last && range.last < 100), 'a part that is not there')
      insist(/^[\x20-\x7e]{1,128}$/.test(requestIdOf(request)), 'an id that breaks lines')
    },
  },
]

/** Lines of `name: value`; several of one name as node has them: joined, or the first. */
function requestOf(bytes: Buffer, remoteAddress = '127.0.0.1'): HttpRequest {
  const rawHeaders: string[] = []
  const headers: Record<string, string> = Object.create(null) as Record<string, string>
  for (const line of bytes.toString('latin1').split('\n').slice(0, 100)) {
    const at = line.indexOf(':')
    if (at <= 0) continue
    const [name, value] = [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    rawHeaders.push(name, value)
    headers[name.toLowerCase()] ??= value
  }
  return {
    method: 'POST',
    url: '/v1/x',
    headers: headers as IncomingHttpHeaders,
    rawHeaders,
    socket: { remoteAddress },
  } as HttpRequest
}
