import type { Socket } from 'node:net'
import type { AppError } from '../../platform/errors.ts'
import { STATUS_CODES } from './node-http.ts'

/** How long a client that was answered here may take to close its side. */
const LINGER_MS = 1000

/**
 * An error as the last word on a connection that has no response object: a head that cannot be understood, a refused
 * upgrade, one connection too many. What the client still sends is thrown away for a moment: a connection closed on
 * unread bytes is reset, and a reset can overtake the answer.
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

/** Headers of every answer that is this error. */
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
