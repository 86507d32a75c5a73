import { createHash } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { AppError } from '../../../platform/errors.ts'
import { fileProblem } from '../../../platform/file-problem.ts'

/**
 *   blobs/sha256-<hex>        what a file holds, under the name of its digest; read-only
 *   manifests/<id>.json       one for each source: its files, the models that use it, when it was last used
 *   trees/<id>/…              links to blobs with the files' own names, for engines that look at names or at siblings
 *   partial/<id>.part, .json  what has arrived of a file that is being fetched, and what it must fit to go on
 */
export class Layout {
  readonly folder: string

  constructor(folder: string) {
    this.folder = folder
  }

  get blobs(): string {
    return join(this.folder, 'blobs')
  }

  get manifests(): string {
    return join(this.folder, 'manifests')
  }

  get trees(): string {
    return join(this.folder, 'trees')
  }

  get partial(): string {
    return join(this.folder, 'partial')
  }

  blob(sha256: string): string {
    return join(this.blobs, `sha256-${sha256}`)
  }

  manifest(id: string): string {
    return join(this.manifests, `${id}.json`)
  }

  tree(id: string): string {
    return join(this.trees, id)
  }

  part(id: string): string {
    return join(this.partial, `${id}.part`)
  }

  record(id: string): string {
    return join(this.partial, `${id}.json`)
  }

  async make(): Promise<void> {
    try {
      for (const folder of [this.blobs, this.manifests, this.trees, this.partial]) {
        await mkdir(folder, { recursive: true, mode: 0o700 })
      }
    } catch (error) {
      const hint = 'Choose another data folder with --data, or change its owner or permissions.'
      throw new AppError(
        'usage',
        `Cannot use the folder for model files ${this.folder}: ${fileProblem(error)}. ${hint}`,
        {
          cause: error,
        },
      )
    }
  }
}

/** A file name, valid on every file system, for any text. */
export function idOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

/** Atomic (temporary file, then rename): a reader never sees half a file, even after a power cut. */
export async function writeJson(path: string, value: unknown): Promise<void> {
  const temporary = `${path}.tmp`
  try {
    const file = await open(temporary, 'w', 0o600)
    try {
      await file.writeFile(`${JSON.stringify(value, undefined, 2)}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {})
    throw new AppError('unavailable', `Cannot write ${path}: ${fileProblem(error)}.`, { cause: error })
  }
  await syncFolder(dirname(path))
}

/** Makes renames in a folder survive a power cut, where the file system can. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  await folder.sync().catch(() => {})
  await folder.close()
}
