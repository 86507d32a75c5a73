import type { Socket } from 'node:net'
import { AppError } from '../../platform/errors.ts'
import type { HttpResponse } from '../exchange.ts'
import type { HttpLimits } from './limits.ts'
import { answerOnSocket } from './socket-answer.ts'

/** An error in the form of node:http's parser. */
export interface ParseError {
  message?: string
  code?: string
  reason?: string
  rawPacket?: Buffer
}

/**
 * Answers a malformed request, after the answers that the client still waits for. `open` are those, in order; the last may
 * belong to the request whose body is malformed.
 */
export function answerBadRequest(
  error: ParseError,
  socket: Socket,
  open: Iterable<HttpResponse>,
  limits: HttpLimits,
): void {
  // A client that is gone is not waiting for an answer.
  if (error.code === 'ECONNRESET' || error.code === 'EPIPE' || !socket.writable) return void socket.destroy()
  const answers = [...open]
  const broken = answers.find((response) => !response.req.complete)
  if (broken?.headersSent) return void socket.destroy()
  const before = answers.findLast((response) => response !== broken)
  const answer = (): void => answerOnSocket(socket, toAppError(error, limits))
  if (before) before.once('close', answer)
  else answer()
}

function toAppError(error: ParseError, limits: HttpLimits): AppError {
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    return new AppError('headers_too_large', `The headers are larger than the limit of ${limits.headerBytes} bytes.`)
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new AppError('timeout', `The head of the request did not arrive whole within ${limits.headMs / 1000} s.`)
  }
  if (error.code === 'HPE_INVALID_EOF_STATE') {
    return new AppError('bad_request', 'The connection ended before the whole request had arrived.')
  }
  return new AppError('bad_request', whatItIs(error))
}

function whatItIs({ rawPacket, reason }: ParseError): string {
  // The first byte of a TLS handshake.
  if (rawPacket?.[0] === 0x16)
    return 'This looks like HTTPS, but this port speaks plain HTTP: use http:// in the address.'
  return `This is not a valid HTTP request${reason ? `: ${reason}` : ''}. Check its first line, its headers and its Content-Length.`
}
