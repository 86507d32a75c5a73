import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { AppError, messageOf } from '../../../platform/errors.ts'
import { TreeWriter, unpackLimits, type UnpackLimits } from './tree-writer.ts'
import { unpackTar } from './unpack-tar.ts'
import { unpackZip } from './unpack-zip.ts'

export interface UnpackHooks {
  signal: AbortSignal
  onProgress: (file: string, doneBytes: number) => void
  limits?: UnpackLimits
}

/**
 * Safely unpacks a tar, a compressed tar (gzip, zstd) or a zip into an empty folder. The format is recognized by the
 * first bytes, because download URLs end in anything. Returns the folder that holds the engine: `into`, or the only
 * folder in it.
 */
export async function unpack(archive: string, into: string, hooks: UnpackHooks): Promise<string> {
  const { signal, onProgress, limits = unpackLimits } = hooks
  const { size } = await stat(archive)
  const tree = new TreeWriter(into, size, limits, onProgress)
  const format = formatOf(await firstBytes(archive)) ?? 'tar'
  if (format === 'zip') await unpackZip(archive, tree, signal)
  else await unpackTar(plainTar(archive, format, tree, signal), tree)
  signal.throwIfAborted()
  return tree.finish()
}

type Format = 'tar' | 'gzip' | 'zstd' | 'zip'

const HEAD_BYTES = 512

async function firstBytes(archive: string): Promise<Buffer> {
  const file = await open(archive)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

/** Undefined: a tar, or an unknown format that the tar parser will reject. */
function formatOf(head: Buffer): Exclude<Format, 'tar'> | undefined {
  const begins = (...bytes: number[]): boolean => head.subarray(0, bytes.length).equals(Buffer.from(bytes))
  if (begins(0x50, 0x4b, 3, 4) || begins(0x50, 0x4b, 5, 6)) return 'zip'
  if (begins(0x1f, 0x8b)) return 'gzip'
  if (begins(0x28, 0xb5, 0x2f, 0xfd)) return 'zstd'
  if (begins(0xfd, 0x37, 0x7a, 0x58, 0x5a) || begins(0x42, 0x5a, 0x68)) {
    throw new AppError('bad_request', 'The archive is compressed by xz or bzip2. Pack it as .tar.gz, .tar.zst or .zip.')
  }
  return undefined
}

/** The bytes of the tar itself. */
async function* plainTar(
  archive: string,
  format: Exclude<Format, 'zip'>,
  tree: TreeWriter,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const file = createReadStream(archive, { highWaterMark: 256 * 1024 })
  const plain = format === 'tar' ? file : file.pipe(format === 'gzip' ? createGunzip() : createZstdDecompress())
  file.on('error', (error) => plain.destroy(error))
  const stop = (): void => void plain.destroy(new Error('aborted'))
  signal.addEventListener('abort', stop, { once: true })
  let isFirst = true
  try {
    for await (const chunk of plain as AsyncIterable<Buffer>) {
      // The parser would decompress once more, without our limits.
      if (isFirst && formatOf(chunk) !== undefined) {
        throw new AppError('bad_request', 'The archive is compressed twice. Compress it once.')
      }
      isFirst = false
      tree.countRead(chunk.length)
      yield chunk
    }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof AppError || (error as NodeJS.ErrnoException).syscall !== undefined) throw error
    throw new AppError('bad_request', `The archive cannot be decompressed: ${messageOf(error)}.`, { cause: error })
  } finally {
    signal.removeEventListener('abort', stop)
    plain.destroy()
    file.destroy()
  }
}
