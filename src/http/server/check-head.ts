import type { IncomingMessage, ServerResponse } from 'node:http'
import { AppError } from '../../platform/errors.ts'
import type { HttpRequest } from '../exchange.ts'

/** What a head must be beyond what the parser asks of it. */
export function checkHead({ rawHeaders, headers, httpVersion }: HttpRequest, mostHeaders: number): void {
  if (rawHeaders.length > 2 * mostHeaders) {
    throw new AppError('headers_too_large', `There are more than ${mostHeaders} headers.`)
  }
  if (headers.host === undefined && httpVersion !== '1.0') {
    throw new AppError('bad_request', 'There is no Host header, which HTTP/1.1 asks for.')
  }
  const coding = headers['transfer-encoding']
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked') {
    throw new AppError('not_implemented', `Transfer-Encoding "${coding}" is not understood here; send "chunked".`)
  }
}

/**
 * Lets a client that waits for "100 Continue" go on when somebody begins to read its body, and not before: until then its
 * head may still be refused, and it has sent nothing in vain.
 */
export function continueWhenRead(request: IncomingMessage, response: ServerResponse): void {
  const read = request._read.bind(request)
  request._read = (size) => {
    request._read = read
    if (!response.headersSent) response.writeContinue()
    read(size)
  }
}
