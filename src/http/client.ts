import { clientRequest } from './client/client-request.ts'
import type { Trust } from '../platform/tls/trust.ts'

export interface JsonAnswer {
  status: number
  body: unknown
  /** The server's clock, from its Date header. */
  dateMs: number | undefined
}

export interface JsonRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Sent as JSON; the request has no body when it is undefined. */
  body?: unknown
  token?: string
  headers?: Record<string, string>
  timeoutMs: number
  /** Aborts the request. */
  signal?: AbortSignal | undefined
  /** Which certificates to accept at an https address. */
  trust?: Trust | undefined
}

const MOST_ANSWER_BYTES = 16 * 1024 * 1024

/** The answer did not come from a Flotilla frontend. */
export class StrangeAnswerError extends Error {
  readonly status: number

  constructor(message: string, status: number) {
    super(message)
    this.status = status
  }
}

/** One POST of JSON. */
export function postJson(url: URL, body: unknown, options: { token: string; timeoutMs: number }): Promise<JsonAnswer> {
  return requestJson(url, { method: 'POST', body, ...options })
}

/** One request with JSON both ways. Uses node:http, because the built-in fetch would cost every process 10 MB. */
export function requestJson(url: URL, options: JsonRequest): Promise<JsonAnswer> {
  const { method, body, token, headers, timeoutMs } = options
  const text = body === undefined ? undefined : JSON.stringify(body)
  const sent = {
    ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...headers,
  }
  return new Promise((resolve, reject) => {
    const timeout = AbortSignal.timeout(timeoutMs)
    const signal = options.signal ? AbortSignal.any([timeout, options.signal]) : timeout
    const outgoing = clientRequest(url, { method, headers: sent, signal }, options.trust)
    outgoing.once('response', (answer) => {
      const chunks: Buffer[] = []
      let bytes = 0
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > MOST_ANSWER_BYTES) answer.destroy(new Error('the answer is too long'))
        else chunks.push(chunk)
      })
      answer.once('error', reject)
      answer.once('end', () => {
        const status = answer.statusCode ?? 0
        const dateMs = Date.parse(answer.headers.date ?? '') || undefined
        try {
          resolve({ status, body: JSON.parse(Buffer.concat(chunks).toString('utf8')), dateMs })
        } catch {
          const text = `the answer (status ${status}) is not JSON: is this a Flotilla frontend?`
          reject(new StrangeAnswerError(text, status))
        }
      })
    })
    outgoing.once('error', reject)
    outgoing.end(text)
  })
}
