import { createWriteStream, existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { AppError } from '../../platform/errors.ts'
import { fileProblem } from '../../platform/file-problem.ts'

/**
 * Writes a file (0600) that has its name only once it is whole and on the disk; with gzip when the name ends in .gz. One
 * that is there already is refused, unless it may be overwritten.
 */
export async function writeFile(path: string, text: AsyncIterable<string>, mayOverwrite: boolean): Promise<void> {
  if (!mayOverwrite && existsSync(path)) {
    throw new AppError('usage', `${path} is there already. Choose another name, or add --overwrite.`)
  }
  const temporary = `${path}.${process.pid}.new`
  try {
    // Flushed: what has its name survives the loss of power.
    const sink = createWriteStream(temporary, { flags: 'wx', mode: 0o600, flush: true })
    const lines = Readable.from(text, { objectMode: false })
    await (path.endsWith('.gz') ? pipeline(lines, createGzip(), sink) : pipeline(lines, sink))
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    const { syscall } = error as NodeJS.ErrnoException
    if (syscall === undefined) throw error
    throw new AppError('usage', `Cannot write ${path}: ${fileProblem(error)}.`, { cause: error })
  }
}
