/** Names of headers, in lower case. */
export interface HeaderNames {
  has(name: string): boolean
}

/**
 * What of a client's request a worker and an engine need; the guide (security.md) lists the same names. Cookies, keys, and
 * what proxies add about a client are never among them. An engine's log holds the headers that it is sent, so a name is
 * added here only when an engine does something with it that the client asks for.
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

/** Headers of a request that go no further: all that are not on the list, and those that the sender writes itself. */
export function notForEngines(ours: readonly string[] = []): HeaderNames {
  return allBut(new Set(REQUEST_HEADERS), ours)
}

/** The same for a request to speak WebSocket. */
export function notForSocketEngines(ours: readonly string[] = []): HeaderNames {
  return allBut(new Set([...REQUEST_HEADERS, ...HANDSHAKE_HEADERS]), ours)
}

function allBut(passed: Set<string>, ours: readonly string[]): HeaderNames {
  for (const name of ours) passed.delete(name)
  return { has: (name) => !passed.has(name) }
}

/**
 * Headers of an answer that speak for a whole origin, which is Flotilla's and not the engine's: cookies, which sites may
 * read an answer, and where a browser goes from now on. `x-flotilla-` is what Flotilla says of an answer.
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
