/** Names of headers, in lower case. */
export interface HeaderNames {
  has(name: string): boolean
}

/**
 * The request headers that workers and engines need; the guide (security.md) lists the same names. Cookies, keys, and what
 * proxies add about a client are never among them. Engines log the headers they get, so a name is added here only when an
 * engine uses it to do something that the client asks for.
 */
const REQUEST_HEADERS: ReadonlySet<string> = new Set([
  'content-type',
  'content-length',
  'accept',
  'accept-encoding',
  'user-agent',
  'traceparent',
  'tracestate',
  'x-request-id',
  'x-client-request-id',
  'x-session-id',
  'idempotency-key',
  'openai-organization',
  'openai-project',
  'openai-beta',
  'anthropic-version',
  'anthropic-beta',
  'x-data-parallel-rank',
])

const HANDSHAKE_HEADERS = [
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-protocol',
  'sec-websocket-extensions',
]

/** Request headers that are not forwarded: all that are not on the list, and those that the caller writes itself. */
export function notForEngines(ours: readonly string[] = []): HeaderNames {
  return allBut(new Set(REQUEST_HEADERS), ours)
}

/** The same for a WebSocket upgrade. */
export function notForSocketEngines(ours: readonly string[] = []): HeaderNames {
  return allBut(new Set([...REQUEST_HEADERS, ...HANDSHAKE_HEADERS]), ours)
}

function allBut(passed: Set<string>, ours: readonly string[]): HeaderNames {
  for (const name of ours) passed.delete(name)
  return { has: (name) => !passed.has(name) }
}

/**
 * Answer headers that apply to a whole origin, which is Flotilla's and not the engine's: cookies, which sites may read an
 * answer, and where a browser goes from now on. Only Flotilla sets `x-flotilla-` headers.
 */
const OF_THE_ORIGIN: ReadonlySet<string> = new Set([
  'set-cookie',
  'set-cookie2',
  'clear-site-data',
  'strict-transport-security',
  'public-key-pins',
  'alt-svc',
  'service-worker-allowed',
  'timing-allow-origin',
  'report-to',
  'reporting-endpoints',
  'nel',
])
const OF_THE_ORIGIN_PREFIXES = ['access-control-', 'x-flotilla-']

/** Headers of an engine's answer that do not reach a client, and those that the gateway writes itself. */
export function notForClients(ours: readonly string[] = []): HeaderNames {
  const names = new Set([...OF_THE_ORIGIN, ...ours])
  return { has: (name) => names.has(name) || OF_THE_ORIGIN_PREFIXES.some((prefix) => name.startsWith(prefix)) }
}
