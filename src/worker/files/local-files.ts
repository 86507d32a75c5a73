import { createHash } from 'node:crypto'
import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { splitParts } from '../../model-files/source/split-parts.ts'
import { AppError } from '../../platform/errors.ts'
import { fileProblem } from '../../platform/file-problem.ts'

const CHUNK_BYTES = 1024 * 1024
const MOST_REMEMBERED = 1000
const MOST_FILES = 100_000

/** Files that are on the node already and are used in place. */
export class LocalFiles {
  /** Verified files, by facts that change when the file does: large files are not hashed again at every start. */
  readonly #verified = new Map<string, string>()

  /** `path` is a file, one of the parts of a split file, or a folder. `hint` says what to do when it is missing. */
  async use(
    path: string,
    sha256: string | undefined,
    hint: string,
    signal: AbortSignal,
  ): Promise<{ path: string; bytes: number }> {
    const parts = splitParts(path)
    const sizes = await Promise.all(parts.map((part) => bytesOf(part, hint)))
    if (sha256 !== undefined) await this.#verify(path, sha256, signal)
    return { path: parts[0], bytes: sizes.reduce((sum, size) => sum + size, 0) }
  }

  async #verify(path: string, expected: string, signal: AbortSignal): Promise<void> {
    const { size, mtimeMs, ino } = await stat(path)
    const facts = `${size} ${mtimeMs} ${ino} ${expected}`
    if (this.#verified.get(path) === facts) return
    const actual = await digestOf(path, signal)
    if (actual !== expected) {
      const what = `its sha256 is ${actual} and should be ${expected}`
      throw new AppError(
        'conflict',
        `The file ${path} is not what it should be: ${what}. Replace it, or correct the source.`,
      )
    }
    if (this.#verified.size >= MOST_REMEMBERED) this.#verified.clear()
    this.#verified.set(path, facts)
  }
}

async function bytesOf(path: string, hint: string): Promise<number> {
  try {
    const facts = await stat(path)
    if (!facts.isDirectory()) {
      // Fails if the worker may not read the file.
      await (await open(path, 'r')).close()
      return facts.size
    }
    const entries = await readdir(path, { recursive: true, withFileTypes: true })
    let bytes = 0
    for (const entry of entries.slice(0, MOST_FILES)) {
      const inside = entry.isDirectory()
        ? undefined
        : await stat(join(entry.parentPath, entry.name)).catch(() => undefined)
      if (inside?.isFile()) bytes += inside.size
    }
    return bytes
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      throw new AppError('not_found', `There is no file or folder ${path} on this node. ${hint}`, { cause: error })
    }
    throw new AppError('conflict', `Cannot read ${path} on this node: ${fileProblem(error)}.`, { cause: error })
  }
}

async function digestOf(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256')
  const file = await open(path, 'r').catch((error: unknown) => {
    throw new AppError('conflict', `Cannot read ${path} on this node: ${fileProblem(error)}.`, { cause: error })
  })
  try {
    const stream = file.createReadStream({ highWaterMark: CHUNK_BYTES, signal, autoClose: false })
    for await (const chunk of stream as AsyncIterable<Buffer>) hash.update(chunk)
  } catch (error) {
    signal.throwIfAborted()
    throw new AppError('conflict', `Cannot read ${path} on this node: ${fileProblem(error)}.`, { cause: error })
  } finally {
    await file.close()
  }
  return hash.digest('hex')
}
