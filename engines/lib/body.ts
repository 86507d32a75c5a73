import type { IncomingMessage } from 'node:http'
import { ApiError, badRequest } from './api-error.ts'

export const MOST_BODY_BYTES = 32 * 1024 * 1024
/**
 * Bytes beyond the limit are read and dropped up to this, so that a sending client reads its 413 instead of a reset.
 */
const MOST_DROPPED_BYTES = 2 * MOST_BODY_BYTES

/** The body as JSON; throws an ApiError. Resolves to undefined when the client disconnects midway. */
export function readJson(request: IncomingMessage): Promise<{ value: unknown } | undefined> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = []
    let bytes = 0
    const tooLarge = (): void =>
      reject(new ApiError(413, `The body is larger than ${MOST_BODY_BYTES} bytes.`, { code: 'request_too_large' }))
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= MOST_BODY_BYTES) chunks.push(chunk)
      else chunks = []
      if (bytes > MOST_DROPPED_BYTES) {
        request.pause()
        tooLarge()
      }
    })
    request.on('end', () => {
      if (bytes > MOST_BODY_BYTES) return tooLarge()
      try {
        resolve({ value: JSON.parse(Buffer.concat(chunks).toString('utf8')) })
      } catch {
        reject(badRequest('The body is not valid JSON.', undefined, 'invalid_json'))
      }
    })
    request.on('error', () => resolve(undefined))
    request.on('close', () => resolve(undefined))
  })
}
