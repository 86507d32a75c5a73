import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { AppError } from '../../../../platform/errors.ts'
import { sendJson } from '../../../../http/server.ts'
import { readRange } from './byte-range.ts'

const CHUNK_BYTES = 256 * 1024

/**
 * Sends a file, or the part of it that is asked for. `path` is free of links: should one stand there now, it is not
 * followed. Resolves when it is sent, or when the reader has gone.
 */
export async function sendFile(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((cause: unknown) => {
    throw new AppError('not_found', 'The file cannot be read, or is no longer there.', { cause })
  })
  try {
    await send(request, response, file)
  } finally {
    await file.close()
  }
}

async function send({ headers }: IncomingMessage, response: ServerResponse, file: FileHandle): Promise<void> {
  const stat = await file.stat()
  if (!stat.isFile()) throw new AppError('not_found', 'That is no file.')
  const { size } = stat
  const etag = `"${size.toString(36)}-${Math.floor(stat.mtimeMs).toString(36)}"`
  // Parts of two versions make no file: a reader that has begun with another version gets this one whole.
  const isSame = headers['if-range'] === undefined || headers['if-range'] === etag
  const range = isSame ? readRange(headers.range, size) : undefined
  if (range === 'beyond') {
    const error = new AppError('bad_request', `The range begins beyond the end of the file, which has ${size} bytes.`)
    return sendJson(response, 416, error.toBody(), { 'content-range': `bytes */${size}` })
  }
  const { first, last } = range ?? { first: 0, last: size - 1 }
  response.writeHead(range ? 206 : 200, {
    'content-type': 'application/octet-stream',
    'content-length': last - first + 1,
    'accept-ranges': 'bytes',
    etag,
    ...(range && { 'content-range': `bytes ${first}-${last}/${size}` }),
  })
  if (size === 0) return void response.end()
  const bytes = file.createReadStream({ start: first, end: last, highWaterMark: CHUNK_BYTES, autoClose: false })
  try {
    await pipeline(bytes, response, { end: false })
  } catch {
    // The reader has gone, or the disk failed after the head was sent: cutting the connection is the only signal left.
    response.destroy()
    return
  }
  // A file that became shorter meanwhile must not look whole.
  if (bytes.bytesRead < last - first + 1) response.destroy()
  else response.end()
}
