import type { ModelHeader, ModelOptions } from '../../core/types.ts'
import { companionsOf } from '../source/companions.ts'
import type { ModelFile } from './model-file.ts'
import { readHeader } from './read-header.ts'

/** The files of a source; undefined when this process cannot reach them. */
export type FindFiles = (source: string, signal: AbortSignal) => Promise<ModelFile[] | undefined>

export interface Inspected {
  header: ModelHeader | null
  /** The size of all files, including those that the options name; null when a server does not report it. */
  bytes: number | null
  besideBytes: number | null
}

/**
 * What the headers of a model's files say. Files that its options name (a projector, an adapter, a draft model) are
 * loaded completely beside it, so their sizes count as additional memory.
 */
export async function inspectModel(
  { source, options }: { source: string; options: ModelOptions },
  find: FindFiles,
  signal: AbortSignal,
): Promise<Inspected> {
  const main = (await find(source, signal)) ?? []
  const header = await readHeader(main, signal)
  const beside: ModelFile[] = []
  for (const [, text] of companionsOf({ ...options })) beside.push(...((await find(text, signal)) ?? []))
  const besideBytes = await bytesOf(beside, signal)
  return {
    header: header && { ...header, projectorBytes: besideBytes ?? 0 },
    bytes: await bytesOf([...main, ...beside], signal),
    besideBytes,
  }
}

async function bytesOf(files: readonly ModelFile[], signal: AbortSignal): Promise<number | null> {
  let total = 0
  for (const { bytes } of files) {
    // Some servers report a file's length only when it is read.
    if (bytes.size === undefined) await bytes.read(0, 1, signal)
    if (bytes.size === undefined) return null
    total += bytes.size
  }
  return total
}
