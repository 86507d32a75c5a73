import { readdir, stat } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import { splitParts } from '../source/split-parts.ts'
import { AppError } from '../../platform/errors.ts'
import { fileProblem } from '../../platform/file-problem.ts'
import { localBytes } from './byte-source.ts'
import type { ModelFile } from './model-file.ts'

/** A folder with more files is not a model. */
const MOST_FILES = 10_000

/** The files of a model on this machine: one file, all parts of a split one, or a folder. */
export async function localModel(path: string): Promise<ModelFile[]> {
  const files = await Promise.all(splitParts(path).map(look))
  return files.flat()
}

async function look(path: string): Promise<ModelFile[]> {
  try {
    const facts = await stat(path)
    if (facts.isFile()) return [aFile(path, basename(path), facts.size)]
    // A read from a device or a pipe may never end.
    if (!facts.isDirectory()) throw new AppError('bad_request', `${path} is neither a file nor a folder.`)
    return await lookInto(path)
  } catch (error) {
    if (error instanceof AppError) throw error
    const isGone = (error as NodeJS.ErrnoException).code === 'ENOENT'
    if (isGone) throw new AppError('not_found', `There is no file or folder ${path} here.`, { cause: error })
    throw new AppError('conflict', `Cannot read ${path}: ${fileProblem(error)}.`, { cause: error })
  }
}

async function lookInto(folder: string): Promise<ModelFile[]> {
  const files: ModelFile[] = []
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (files.length >= MOST_FILES) throw new AppError('too_large', `${folder} has more than ${MOST_FILES} files.`)
    const path = join(entry.parentPath, entry.name)
    const facts = entry.isDirectory() ? undefined : await stat(path).catch(() => undefined)
    if (facts?.isFile()) files.push(aFile(path, relative(folder, path).split(sep).join('/'), facts.size))
  }
  return files
}

function aFile(path: string, name: string, size: number): ModelFile {
  return { path: name, bytes: localBytes(path, size, path) }
}
