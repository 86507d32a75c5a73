import type { IncomingMessage, ServerResponse } from 'node:http'
import { AppError } from '../../platform/errors.ts'
import type { HttpRequest } from '../exchange.ts'

/** Checks what the parsers do not check. */
export function checkHead({ rawHeaders, headers, httpVersion }: HttpRequest, mostHeaders: number): void {
  if (rawHeaders.length > 2 * mostHeaders) {
    throw new AppError('headers_too_large', `There are more than ${mostHeaders} headers.`)
  }
  if (headers.host === undefined && httpVersion !== '1.0') {
    throw new AppError('bad_request', 'There is no Host header, which HTTP/1.1 requires.')
  }
  const coding = headers['transfer-encoding']
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked') {
    throw new AppError('not_implemented', `Transfer-Encoding "${coding}" is not supported; send "chunked".`)
  }
}

/**
 * Sends "100 Continue" when the handler begins to read the body, and not before: until then the head may still be refused,
 * and the client should not send its body in vain.
 */
export function continueWhenRead(request: IncomingMessage, response: ServerResponse): void {
  const read = request._read.bind(request)
  request._read = (size) => {
    request._read = read
    if (!response.headersSent) response.writeContinue()
    read(size)
  }
}
