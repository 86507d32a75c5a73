import type { ModelHeader, ModelOptions } from '../../core/types.ts'
import { companionsOf } from '../source/companions.ts'
import type { ModelFile } from './model-file.ts'
import { readHeader } from './read-header.ts'

/** The files that a source means; undefined when they are where we cannot look. */
export type FindFiles = (source: string, signal: AbortSignal) => Promise<ModelFile[] | undefined>

export interface Inspected {
  header: ModelHeader | null
  /** Of all files that were found, and of those that the options name; null when a server does not say. */
  bytes: number | null
  besideBytes: number | null
}

/**
 * What the files of a model say. Those that its options name (a projector, an adapter, a draft model) are loaded whole
 * beside it, so their sizes count as what goes with it.
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
    // Some servers say how long a file is only when it is read.
    if (bytes.size === undefined) await bytes.read(0, 1, signal)
    if (bytes.size === undefined) return null
    total += bytes.size
  }
  return total
}
