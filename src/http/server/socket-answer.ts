import type { Socket } from 'node:net'
import type { AppError } from '../../platform/errors.ts'
import { STATUS_CODES } from './node-http.ts'

/** How long the client may take to close its side after the answer. */
const LINGER_MS = 1000

/**
 * Sends an error on a connection without a response object, and closes it: for a malformed head, a refused upgrade, or one
 * connection too many. Bytes that the client still sends are read and dropped for a moment: closing with unread bytes resets
 * the connection, and the reset can overtake the answer.
 */
export function answerOnSocket(socket: Socket, error: AppError, headers: Readonly<Record<string, string>> = {}): void {
  socket.on('error', () => {})
  if (!socket.writable) return void socket.destroy()
  socket.end(errorAnswer(error, headers))
  socket.resume()
  const cut = setTimeout(() => socket.destroy(), LINGER_MS)
  cut.unref()
  socket.once('close', () => clearTimeout(cut))
}

/** The headers of every answer with this error. */
export function errorHeaders(error: AppError): Record<string, string> {
  const headers: Record<string, string> = {}
  if (error.retryAfterS !== undefined) headers['retry-after'] = String(error.retryAfterS)
  if (error.allow) headers['allow'] = error.allow.join(', ')
  if (error.isFinal) headers['x-should-retry'] = 'false'
  if (error.code === 'unauthorized') headers['www-authenticate'] = 'Bearer'
  return headers
}

function errorAnswer(error: AppError, headers: Readonly<Record<string, string>>): string {
  const text = `${JSON.stringify(error.toBody())}\n`
  const fields = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(text)),
    connection: 'close',
    ...errorHeaders(error),
    ...headers,
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? 'Error'}\r\n${lines.join('')}\r\n${text}`
}
