/** What the bench's processes tell each other over their IPC channels. */
export type Work =
  /** Small requests, one after another on each of some kept-alive connections. */
  | { kind: 'requests'; target: Target; connections: number; durationMs: number }
  /** Event streams read to their end, one after another on each of some connections. */
  | { kind: 'streams'; target: Target; connections: number; durationMs: number }
  /** Streams that have begun and then say nothing. They stay open until `release`. */
  | { kind: 'hold'; target: Target; streams: number }
  | { kind: 'release' }

export interface Target {
  port: number
  /** What comes before the engine's path. */
  prefix: string
}

export interface Done {
  perSecond: number
  /** Of every single request or stream, unsorted. */
  latenciesMs: number[]
}

export interface Ready {
  port: number
}

export interface Memory {
  rssBytes: number
}

export const DATA_KEY = 'bench-data-key'
export const MODEL_NAME = 'bench'

/** The engine's paths. */
export const paths = { small: '/small', stream: '/stream', hold: '/hold' }

/** Each event is as large as one token in OpenAI's format. */
export const EVENT = `data: {"id":"chatcmpl-123456789012","object":"chat.completion.chunk","created":1700000000,"model":"${MODEL_NAME}","choices":[{"index":0,"delta":{"content":" token"},"finish_reason":null}]}\n\n`
export const EVENTS_PER_STREAM = 500
/** By these the load process, which does not parse HTTP, knows that an answer is whole. */
export const SMALL_BODY = `{"object":"list","data":[{"embedding":[0.1,0.2,0.3,0.4]}],"model":"${MODEL_NAME}","the":"end"}`
export const STREAM_END = 'data: [DONE]\n\n'
