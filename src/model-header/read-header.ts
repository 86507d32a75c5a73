import { posix } from 'node:path'
import type { ModelHeader } from '../core/types.ts'
import { splitParts } from '../model-source/split-parts.ts'
import { AppError } from '../platform/errors.ts'
import type { ByteSource } from './byte-source.ts'
import { readGguf } from './gguf-file.ts'
import { ggufHeader } from './gguf-header.ts'
import { readSafetensors } from './safetensors-file.ts'
import { safetensorsHeader } from './safetensors-header.ts'

/** One file of a model, by its path in the model's folder. */
export interface ModelFile {
  path: string
  bytes: ByteSource
}

/** The largest models come in fewer. */
const MOST_FILES = 1000
const AT_ONCE = 4
const MOST_CONFIG_BYTES = 2 ** 20

/**
 * What the files of a model say about the memory it takes; null when they are of no kind that says so (a folder with
 * several models in it, a speech model). Only the beginning of each file is read.
 */
export async function readHeader(files: readonly ModelFile[], signal: AbortSignal): Promise<ModelHeader | null> {
  const header = await readAny(files, signal)
  // Models for images and speech are stored alike, and take their memory by other rules.
  return header && header.layers > 0 ? header : null
}

async function readAny(files: readonly ModelFile[], signal: AbortSignal): Promise<ModelHeader | null> {
  const gguf = theGguf(files)
  if (gguf) return readGgufParts(gguf, signal)
  const config = files.find(({ path }) => path === 'config.json')
  const weights = safetensors(files)
  return config && weights.length > 0 ? readFolder(config, weights, signal) : null
}

/** The parts of the one GGUF that is here, projectors aside; undefined when there is none, or a choice. */
function theGguf(files: readonly ModelFile[]): ModelFile[] | undefined {
  const models = files.filter(({ path }) => path.endsWith('.gguf') && !/mmproj/i.test(posix.basename(path)))
  const [first] = models
  if (!first) return undefined
  const names = new Set<string>(splitParts(first.path))
  if (!models.every(({ path }) => names.has(path))) return undefined
  if (models.length < names.size) {
    const missing = [...names].filter((name) => !models.some(({ path }) => path === name))
    throw new AppError('not_found', `Parts of the model are missing: ${missing.slice(0, 3).join(', ')}.`)
  }
  return models
}

async function readGgufParts(parts: ModelFile[], signal: AbortSignal): Promise<ModelHeader> {
  checkCount(parts)
  const inOrder = parts.toSorted((a, b) => (a.path < b.path ? -1 : 1))
  const [first, ...others] = await inBatches(inOrder, ({ bytes }) => readGguf(bytes, signal))
  return ggufHeader([first!, ...others], inOrder[0]!.bytes.label)
}

/** Some repositories have the same weights twice, in the layout of transformers (`model…`) and in their maker's own. */
function safetensors(files: readonly ModelFile[]): ModelFile[] {
  const all = files.filter(({ path }) => path.endsWith('.safetensors') && !path.includes('/'))
  const usual = all.filter(({ path }) => path.startsWith('model'))
  return usual.length > 0 ? usual : all
}

async function readFolder(config: ModelFile, weights: ModelFile[], signal: AbortSignal): Promise<ModelHeader> {
  checkCount(weights)
  const text = await config.bytes.read(0, MOST_CONFIG_BYTES, signal)
  const sizes = await inBatches(weights, ({ bytes }) => readSafetensors(bytes, signal))
  const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0)
  return safetensorsHeader(jsonOf(text, config.bytes.label), total, config.bytes.label)
}

function checkCount(files: readonly ModelFile[]): void {
  if (files.length <= MOST_FILES) return
  throw new AppError('too_large', `A model in ${files.length} files is not read; at most ${MOST_FILES} are.`)
}

async function inBatches<T>(files: readonly ModelFile[], read: (file: ModelFile) => Promise<T>): Promise<T[]> {
  const results: T[] = []
  for (let i = 0; i < files.length; i += AT_ONCE) {
    results.push(...(await Promise.all(files.slice(i, i + AT_ONCE).map(read))))
  }
  return results
}

function jsonOf(bytes: Buffer, label: string): unknown {
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown
  } catch {
    throw new AppError('bad_request', `${label} is not JSON.`)
  }
}
