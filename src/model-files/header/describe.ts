import type { ModelHeader } from '../../core/types.ts'
import type { GgufFile } from './gguf-file.ts'
import { ggufHeader } from './gguf-header.ts'
import { Metadata } from './gguf-metadata.ts'
import { ggufModels, readParts, type GgufParts } from './gguf-parts.ts'
import type { ModelFile } from './model-file.ts'
import { readHeader } from './read-header.ts'

/** What some files are, for a person. */
export type Description =
  | {
      kind: 'model' | 'projector' | 'adapter'
      /** The name that its author gave it. */
      name: string | null
      header: ModelHeader
      /** Of the first layer; null where the file does not say. */
      heads: number | null
      keyValueHeads: number | null
      tensors: number | null
      tensorBytes: number
      chatTemplate: string | null
      files: number
      fileBytes: number | null
      /** Files beside it that encode images or sound for it. */
      projectors: string[]
    }
  /** Several models: the caller must name one. */
  | { kind: 'choice'; names: string[] }
  | { kind: 'unknown'; files: number }

const CHAT_TEMPLATE = 'tokenizer.chat_template'

/** Reads only the beginning of each file that is needed. */
export async function describeModel(files: readonly ModelFile[], signal: AbortSignal): Promise<Description> {
  const models = ggufModels(files)
  const ggufs = files.filter(({ path }) => path.endsWith('.gguf'))
  if (models.length > 1) return { kind: 'choice', names: models.map(([{ path }]) => path) }
  const projectors = models.length === 0 ? [] : ggufs.filter((file) => !models[0]!.includes(file))
  if (models[0]) return describeGguf(models[0], projectors, signal)
  if (ggufs.length > 1) return { kind: 'choice', names: ggufs.map(({ path }) => path) }
  // A single file may have any name; its first bytes tell its format.
  const only = ggufs[0] ?? (files.length === 1 && !files[0]!.path.endsWith('.safetensors') ? files[0] : undefined)
  if (only) return describeGguf([only], [], signal)
  const header = await readHeader(files, signal)
  if (!header) return { kind: 'unknown', files: files.length }
  const unsaid = { name: null, heads: null, keyValueHeads: null, tensors: null, chatTemplate: null, projectors: [] }
  return {
    kind: 'model',
    header,
    tensorBytes: header.weightsBytes,
    ...unsaid,
    files: files.length,
    fileBytes: bytesOf(files),
  }
}

async function describeGguf(
  parts: GgufParts,
  projectors: readonly ModelFile[],
  signal: AbortSignal,
): Promise<Description> {
  const read = await readParts(parts, signal, [CHAT_TEMPLATE])
  const header = ggufHeader(read, parts[0].bytes.label)
  const values = read[0].metadata
  const tensors = read.flatMap((part) => part.tensors)
  const metadata = new Metadata(values)
  const heads = metadata.own('attention.head_count') ?? null
  return {
    kind: kindOf(values, header),
    name: textOf(values, 'general.name'),
    header,
    heads,
    keyValueHeads: metadata.own('attention.head_count_kv') ?? heads,
    tensors: tensors.length,
    tensorBytes: tensors.reduce((sum, { bytes }) => sum + bytes, 0),
    chatTemplate: textOf(values, CHAT_TEMPLATE),
    files: parts.length,
    fileBytes: bytesOf(parts),
    projectors: projectors.map(({ path }) => path),
  }
}

function kindOf(values: GgufFile['metadata'], { architecture }: ModelHeader): 'model' | 'projector' | 'adapter' {
  if (architecture === 'clip') return 'projector'
  return values.get('general.type') === 'adapter' ? 'adapter' : 'model'
}

function textOf(values: GgufFile['metadata'], key: string): string | null {
  const value = values.get(key)
  return typeof value === 'string' && value !== '' ? value : null
}

/** Null when a server does not report a file's length. */
function bytesOf(files: readonly ModelFile[]): number | null {
  return files.reduce<number | null>(
    (sum, { bytes }) => (sum === null || bytes.size === undefined ? null : sum + bytes.size),
    0,
  )
}
