import { Parser, type ReadEntry } from 'tar'
import { AppError, messageOf } from '../../../platform/errors.ts'
import type { TreeWriter } from './tree-writer.ts'

/** Feeds a decompressed tar to the writer, entry by entry. */
export async function unpackTar(content: AsyncIterable<Buffer>, tree: TreeWriter): Promise<void> {
  // `strict` turns the parser's warnings, such as that of a truncated archive, into errors.
  const parser = new Parser({ strict: true })
  let failed: { error: unknown } | undefined
  let wake = (): void => {}
  const fail = (error: unknown): void => {
    failed ??= { error }
    wake()
  }
  let writing = Promise.resolve()
  let current: ReadEntry | undefined
  parser.on('entry', (entry: ReadEntry) => {
    current = entry
    // The parser hands out one entry at a time: the next one comes after this one has been read.
    writing = writing
      .then(() => (failed ? undefined : writeEntry(entry, tree)))
      .catch(fail)
      .finally(() => entry.resume())
  })
  parser.on('ignoredEntry', (entry: ReadEntry) => fail(unsupported(entry.path, entry.header.type ?? 'unknown')))
  parser.on('drain', () => wake())
  const ended = new Promise<void>((resolve) => {
    parser.once('end', resolve)
    parser.on('error', (error: unknown) => {
      fail(new AppError('bad_request', `The archive cannot be read: ${messageOf(error)}.`))
      resolve()
    })
  })
  try {
    for await (const chunk of content) {
      const drained = new Promise<void>((resolve) => (wake = resolve))
      if (!parser.write(chunk)) await drained
      if (failed) break
    }
    if (!failed) {
      parser.end()
      await ended
    }
  } catch (error) {
    fail(error)
    // No more data will come: without this the file being written would wait for ever.
    current?.destroy(error)
  }
  await writing
  if (failed) throw failed.error
}

async function writeEntry(entry: ReadEntry, tree: TreeWriter): Promise<void> {
  const { path, type, linkpath = '', mode = 0o644 } = entry
  if (type === 'Directory') return tree.folder(path)
  if (type === 'SymbolicLink') return tree.symbolicLink(path, linkpath)
  if (type === 'Link') return tree.hardLink(path, linkpath)
  if (type === 'File' || type === 'OldFile' || type === 'ContiguousFile') return tree.file(path, mode, entry)
  throw unsupported(path, type)
}

function unsupported(path: string, type: string): AppError {
  return new AppError('bad_request', `The archive is not safe to unpack: ${JSON.stringify(path)} is a ${type}.`)
}
