import { posix } from 'node:path'
import { modelName } from '../../../api/admin/names.ts'
import { isProjector } from '../../../model-files/header/gguf-parts.ts'
import { splitParts } from '../../../model-files/source/split-parts.ts'

export interface ListedFile {
  path: string
  size: number
}

/** A model that a folder has: its name, and its files, the first part first. */
export interface FoundModel {
  name: string
  files: [ListedFile, ...ListedFile[]]
}

/** More are not served, and said to be left out. */
const MOST_MODELS = 1000

/**
 * The models among the files of a folder, each named after its file: all parts of a split one together, projectors left
 * out. Of two with one name, in different folders below it, the first by path has it.
 */
export function findModels(files: readonly ListedFile[]): { models: FoundModel[]; leftOut: string[] } {
  const groups = Map.groupBy(
    files.filter(({ path }) => path.endsWith('.gguf') && !isProjector(path) && !isHidden(path)),
    ({ path }) => firstPart(path),
  )
  const models = new Map<string, FoundModel>()
  const leftOut: string[] = []
  for (const [first, parts] of [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const [head, ...others] = parts.toSorted((a, b) => (a.path < b.path ? -1 : 1))
    // A part that has not arrived yet may come.
    if (splitParts(first).length !== parts.length) continue
    const name = nameOf(first)
    const isTaken = models.has(name) || models.size >= MOST_MODELS || !modelName.safeParse(name).success
    if (isTaken) leftOut.push(first)
    else models.set(name, { name, files: [head!, ...others] })
  }
  return { models: [...models.values()], leftOut }
}

/** Programs that fetch keep what is not whole yet, or meant for others, under such names. */
function isHidden(path: string): boolean {
  return path.split('/').some((part) => part.startsWith('.'))
}

/** One that claims to have more parts than possible stands for itself. */
function firstPart(path: string): string {
  try {
    return splitParts(path)[0]
  } catch {
    return path
  }
}

/** `qwen-q8_0-00001-of-00003.gguf` is `qwen-q8_0`. */
function nameOf(path: string): string {
  return posix
    .basename(path, '.gguf')
    .replace(/-\d{5}-of-\d{5}$/, '')
    .trim()
}
