import type { Readable } from 'node:stream'
import { openPromise, type Entry, type ZipFile } from 'yauzl'
import { AppError, messageOf } from '../../../platform/errors.ts'
import type { TreeWriter } from './tree-writer.ts'

/** The type in the upper half of a Unix mode. */
const TYPE_MASK = 0o170000
const FOLDER = 0o040000
const REGULAR = 0o100000
const SYMBOLIC_LINK = 0o120000
/** The systems on which an archive was made whose mode field means something: Unix (3) and macOS (19). */
const UNIX_SYSTEMS = new Set([3, 19])
const MOST_TARGET_BYTES = 4096

/** Feeds a zip to the writer, entry by entry. The reader reports wrong sizes and checksums as errors. */
export async function unpackZip(path: string, tree: TreeWriter, signal: AbortSignal): Promise<void> {
  let zip: ZipFile | undefined
  try {
    zip = await openPromise(path, { strictFileNames: true })
    for await (const entry of zip.eachEntry()) {
      signal.throwIfAborted()
      await writeEntry(zip, entry, tree, signal)
    }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof AppError || (error as NodeJS.ErrnoException).syscall !== undefined) throw error
    throw new AppError('bad_request', `The archive cannot be read: ${messageOf(error)}.`, { cause: error })
  } finally {
    zip?.close()
  }
}

async function writeEntry(zip: ZipFile, entry: Entry, tree: TreeWriter, signal: AbortSignal): Promise<void> {
  const { fileName: path } = entry
  const mode = UNIX_SYSTEMS.has(entry.versionMadeBy >>> 8) ? entry.externalFileAttributes >>> 16 : 0
  const type = mode & TYPE_MASK
  if (path.endsWith('/') || type === FOLDER) return tree.folder(path)
  if (type !== 0 && type !== REGULAR && type !== SYMBOLIC_LINK) {
    throw new AppError('bad_request', `The archive is not safe to unpack: ${JSON.stringify(path)} is a device.`)
  }
  if (!entry.canDecodeFileData()) {
    const why = entry.isEncrypted() ? 'is encrypted' : `is compressed by method ${entry.compressionMethod}`
    throw new AppError('bad_request', `The archive cannot be read: ${JSON.stringify(path)} ${why}.`)
  }
  const content = await zip.openReadStreamPromise(entry)
  const stop = (): void => void content.destroy(new Error('aborted'))
  signal.addEventListener('abort', stop, { once: true })
  try {
    const read = readingOf(content)
    if (type !== SYMBOLIC_LINK) return await tree.file(path, mode === 0 ? 0o644 : mode, read)
    tree.symbolicLink(path, await targetOf(read))
  } finally {
    signal.removeEventListener('abort', stop)
    content.destroy()
  }
}

/**
 * Reads the content, or throws its error. A stream emits its error only once: without a listener it would end this
 * process, and a reader that comes later would wait for ever.
 */
function readingOf(content: Readable): AsyncIterable<Buffer> {
  let failure: Error | undefined
  content.on('error', (error: Error) => (failure ??= error))
  return (async function* () {
    if (failure) throw failure
    yield* content as AsyncIterable<Buffer>
  })()
}

/** The content of a link is its target. */
async function targetOf(content: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of content) {
    bytes += chunk.length
    if (bytes > MOST_TARGET_BYTES) throw new AppError('bad_request', 'The archive has a link with an endless target.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
