import type { ServerResponse } from 'node:http'
import { ApiError } from './api-error.ts'

export type Log = (line: string) => void

export function answerJson(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  response.end(text)
}

/** Sends the error to the client; internal details go to the log. */
export function answerError(response: ServerResponse, error: unknown, log: Log): void {
  const known = error instanceof ApiError ? error : new ApiError(500, 'Something failed inside the engine.')
  if (known !== error) log(`failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
  if (response.headersSent) {
    // Too late for a status: cutting the connection is the only way to say that the answer is incomplete.
    response.destroy()
    return
  }
  if (known.extra.retryAfterS !== undefined) response.setHeader('retry-after', String(known.extra.retryAfterS))
  // The rest of a body that is too large was not read, so the connection cannot be reused.
  if (known.status === 413) response.setHeader('connection', 'close')
  answerJson(response, known.status, known.toBody())
}

/** Begins a stream of events. */
export function openStream(response: ServerResponse, opening: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  if (opening !== '') response.write(opening)
}

/** Resolves when more may be written, or when the client has disconnected. */
export function drained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const done = (): void => {
      response.off('drain', done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    response.once('drain', done)
    signal.addEventListener('abort', done, { once: true })
  })
}
