import { posix } from 'node:path'
import { splitParts } from '../source/split-parts.ts'
import { AppError } from '../../platform/errors.ts'
import { readGguf, type GgufFile } from './gguf-file.ts'
import { checkCount, inBatches } from './in-batches.ts'
import type { ModelFile } from './model-file.ts'

/** The files of one GGUF, first part first. */
export type GgufParts = [ModelFile, ...ModelFile[]]

/** The GGUF models among some files, each with all its parts; projectors are left out. */
export function ggufModels(files: readonly ModelFile[]): GgufParts[] {
  const models = files.filter(({ path }) => path.endsWith('.gguf') && !isProjector(path))
  const groups = Map.groupBy(models, ({ path }) => splitParts(path)[0])
  return [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([first, parts]) => inOrder(first, parts))
}

/** Recognized by the usual name: a projector encodes images for a model. */
export function isProjector(path: string): boolean {
  return /mmproj/i.test(posix.basename(path))
}

/** The headers of all parts. `asked`: keys of long texts to read. */
export async function readParts(
  parts: GgufParts,
  signal: AbortSignal,
  asked: readonly string[] = [],
): Promise<[GgufFile, ...GgufFile[]]> {
  checkCount(parts)
  const [first, ...others] = await inBatches(parts, ({ bytes }) => readGguf(bytes, signal, asked))
  return [first!, ...others]
}

function inOrder(first: string, parts: readonly ModelFile[]): GgufParts {
  const names = splitParts(first)
  const missing = names.filter((name) => !parts.some(({ path }) => path === name))
  if (missing.length > 0) {
    throw new AppError('not_found', `Parts of the model are missing: ${missing.slice(0, 3).join(', ')}.`)
  }
  const [head, ...others] = parts.toSorted((a, b) => (a.path < b.path ? -1 : 1))
  return [head!, ...others]
}
