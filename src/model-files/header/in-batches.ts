import { AppError } from '../../platform/errors.ts'
import type { ModelFile } from './model-file.ts'

/** The largest models have fewer files. */
const MOST_FILES = 1000
const AT_ONCE = 4

/** Reads from each file, a few files at a time. */
export async function inBatches<T>(files: readonly ModelFile[], read: (file: ModelFile) => Promise<T>): Promise<T[]> {
  const results: T[] = []
  for (let i = 0; i < files.length; i += AT_ONCE) {
    results.push(...(await Promise.all(files.slice(i, i + AT_ONCE).map(read))))
  }
  return results
}

export function checkCount(files: readonly ModelFile[]): void {
  if (files.length <= MOST_FILES) return
  throw new AppError('too_large', `A model in ${files.length} files is not read; at most ${MOST_FILES} are.`)
}
