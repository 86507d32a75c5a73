/** What the client asks, what the upstream answers, and what the bench's processes tell each other. */
export const MODEL_NAME = 'bench'
export const PATH = '/v1/chat/completions'
export const UPSTREAMS = 16
export const EVENTS_PER_STREAM = 50
/** Of a stream that comes at the pace of an engine. */
export const PACED_EVENTS = 20
export const PACE_MS = 10

export type Kind = 'json' | 'stream' | 'paced' | 'hold'

/** A small chat. The upstream looks at nothing but `stream` and `user`. */
export function requestBody(kind: Kind): string {
  const chat = { model: MODEL_NAME, messages: [{ role: 'user', content: 'Say something short.' }] }
  if (kind === 'json') return JSON.stringify(chat)
  return JSON.stringify(kind === 'stream' ? { ...chat, stream: true } : { ...chat, stream: true, user: kind })
}

/** What the load process, which does not parse HTTP, knows a whole answer by. */
export const JSON_TAIL = '"the":"end"}'
export const STREAM_TAIL = '0\r\n\r\n'

/** 600 bytes, as a short chat completion has. */
export const ANSWER = paddedTo(600)

function paddedTo(bytes: number): string {
  const answer = (content: string): string =>
    JSON.stringify({
      id: 'chatcmpl-123456789012',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: MODEL_NAME,
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 12, completion_tokens: 80, total_tokens: 92 },
      the: 'end',
    })
  return answer('a'.repeat(bytes - answer('').length))
}

/** As large as one token in OpenAI's format. */
export const EVENT = `data: {"id":"chatcmpl-123456789012","object":"chat.completion.chunk","created":1700000000,"model":"${MODEL_NAME}","choices":[{"index":0,"delta":{"content":" token"},"finish_reason":null}]}\n\n`

/** Where requests go, and the headers that this proxy wants beside the usual ones. */
export interface Target {
  port: number
  headers: Readonly<Record<string, string>>
  isTls?: boolean
}

export type Work =
  | { do: 'measure'; target: Target; kind: 'json' | 'stream'; connections: number; durationMs: number }
  /** So many requests a second, whatever becomes of them. */
  | { do: 'rate'; target: Target; perSecond: number; durationMs: number }
  /** So many streams side by side that come at the pace of an engine; how long their first byte takes. */
  | { do: 'first byte'; target: Target; streams: number; durationMs: number; begin: Beginning }
  /** Streams that have begun and then say nothing. They stay open until `release`. */
  | { do: 'hold'; target: Target; streams: number }
  /** So many of the oldest are ended and as many new ones begun. */
  | { do: 'replace'; target: Target; streams: number }
  | { do: 'release' }

/**
 * When streams begin. `at a rate`: each when it is due, so that as many as are wanted run at any time. `in turn`: on each
 * connection the next in the moment in which the last has ended, the first ones spread over the time that a stream takes.
 * `at once`: the same, but the first ones in one moment.
 */
export type Beginning = 'at a rate' | 'in turn' | 'at once'

export interface Measured {
  perSecond: number
  p50Ms: number
  p99Ms: number
  failed: number
  /** Processor time of the proxy for each request; undefined where it is not known. */
  cpuUs?: number | undefined
}

/** How Flotilla's gateway is started. */
export interface FlotillaOptions {
  /** Of its replicas. */
  ports: readonly number[]
  /** It counts for metrics, for control and for other gateways. */
  isCounted?: boolean
  /** Files; then it is encrypted. */
  certificate?: { cert: string; key: string }
  /** Several listen there. */
  sharedPort?: number
}
